// Counter-based random numbers: the i-th number of a stream is a function of (seed, stream, i), so
// any part of a run can be replayed, split over threads or resumed without keeping a state.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>

namespace evener {

/// Philox4x32-10 (Salmon et al., SC 2011): four 32-bit numbers from a 128-bit counter, 64-bit key.
inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                           std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ k1,
               static_cast<std::uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

/// A cheap full-avalanche hash of 32 bits, for masks where Philox would cost more than the work.
inline std::uint32_t mix32(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7FEB352DU;
  x = (x ^ (x >> 15)) * 0x846CA68BU;
  return x ^ (x >> 16);
}

// Not ISO C++, but every supported compiler has it.
__extension__ typedef unsigned __int128 Wide;

/// One stream of numbers; `stream` names its use (an epoch, a layer), `seed` the run.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  std::uint32_t next() {
    if (used_ == 4) {
      block_ =
          philox({static_cast<std::uint32_t>(counter_), static_cast<std::uint32_t>(counter_ >> 32),
                  static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)},
                 seed_);
      ++counter_;
      used_ = 0;
    }
    return block_[used_++];
  }
  std::uint64_t next64() {
    const std::uint64_t high = next();
    return high << 32 | next();
  }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next64() >> 11) * 0x1p-53; }
  /// Uniform in [0, n), n > 0, without bias that could be measured (n far below 2^64).
  std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>(static_cast<Wide>(next64()) * n >> 64);
  }
  /// Standard normal (Box-Muller).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t counter_ = 0;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
};

}  // namespace evener
