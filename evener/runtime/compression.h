// Lossy compression of pushes, in fewer bits or fewer numbers. What was not sent is added to the
// next push.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace evener {

struct Compression {
  enum class Kind { none, fp16, top_k };
  Kind kind = Kind::none;
  double share = 0.01;  // top_k: of the numbers, at least one

  bool active() const { return kind != Kind::none; }
  /// How many of so many numbers top_k picks.
  std::size_t picked(std::size_t numbers) const;
  /// Bytes that so many numbers take. Numbers that top_k picks travel with their positions.
  std::size_t bytes(std::size_t numbers) const;
};
/// "none", "fp16" or "top-k".
Compression::Kind parse_compression(const std::string& name);

/// On entry `values` is what is to be sent, on return what is sent; `owed` is the rest. sent + owed
/// is, to the bit, what was to be sent, as long as that is below 2^29.
void compress(const Compression& compression, std::span<float> values, std::span<float> owed);

/// The nearest number of half precision, the largest finite one where there is none.
float nearest_half(float value);
// Its sixteen bits, and back.
std::uint16_t half_bits(float half);
float from_half(std::uint16_t bits);

}  // namespace evener
