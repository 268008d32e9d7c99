// The bytes of a fuzzer as numbers and texts; zeros after the last byte.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace evener {

class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  unsigned byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  unsigned below(unsigned count) { return byte() % count; }
  /// Mostly `usual`, sometimes a number near it or a very large one.
  std::uint64_t number(std::uint64_t usual) {
    const unsigned choice = byte();
    if (choice < 192) return usual;
    if (choice < 224) return usual + choice % 8 - 4;
    return choice < 240 ? choice % 16 : std::numeric_limits<std::uint64_t>::max() - choice % 16;
  }
  /// Mostly `usual`, sometimes a number that is no amount.
  double amount(double usual) {
    constexpr std::array kOthers{-1.0, 0.0, 1e-320, 1e300};
    const unsigned choice = byte();
    if (choice < 192) return usual;
    if (choice < 208) return std::numeric_limits<double>::quiet_NaN();
    if (choice < 224) return std::numeric_limits<double>::infinity();
    return kOthers[choice % kOthers.size()];
  }
  std::string text(std::size_t most) {
    std::string text(reinterpret_cast<const char*>(data_), std::min(most, left_));
    data_ += text.size();
    left_ -= text.size();
    return text;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

}  // namespace evener
