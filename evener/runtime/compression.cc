#include "evener/runtime/compression.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace evener {

namespace {

/// Picks the largest by magnitude; among equal ones the first, so that a run can be repeated.
void pick_largest(std::size_t picked, std::span<float> values, std::span<float> residual) {
  std::vector<std::uint32_t> places(values.size());
  std::iota(places.begin(), places.end(), 0U);
  std::nth_element(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(picked),
                   places.end(), [&](std::uint32_t a, std::uint32_t b) {
                     const float x = std::abs(values[a]), y = std::abs(values[b]);
                     return x > y || (x == y && a < b);
                   });
  std::fill(residual.begin(), residual.end(), 0.0F);
  for (std::size_t i = picked; i < places.size(); ++i) {
    std::swap(values[places[i]], residual[places[i]]);
  }
}

}  // namespace

float nearest_half(float value) {
  constexpr float kLargest = 65504.0F, kLeastNormal = 0x1p-14F;
  const float magnitude = std::abs(value);
  if (magnitude >= kLargest) return std::copysign(kLargest, value);
  if (magnitude < kLeastNormal) {
    // Steps of 2^-24, the last bit of 0.75.
    return std::copysign((magnitude + 0.75F) - 0.75F, value);
  }
  // Dekker's split: what is left of the product's excess are the upper 11 bits.
  const float scaled = value * 8193.0F;
  return std::clamp(scaled - (scaled - value), -kLargest, kLargest);
}

// Layouts: sign, 8 bits of exponent (127 is 1), 23 bits; sign, 5 bits (15 is 1), 10 bits.
std::uint16_t half_bits(float half) {
  const auto bits = std::bit_cast<std::uint32_t>(half);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t exponent = bits >> 23 & 0xFFU;
  constexpr std::uint32_t kShift = 127 - 15;
  std::uint32_t rest = 0;
  if (exponent > kShift) {
    rest = (exponent - kShift) << 10 | (bits >> 13 & 0x3FFU);
  } else {  // steps of 2^-24
    rest = static_cast<std::uint32_t>(std::abs(half) * 0x1p24F);
  }
  return static_cast<std::uint16_t>(sign | rest);
}

float from_half(std::uint16_t bits) {
  const std::uint32_t exponent = bits >> 10 & 0x1FU, rest = bits & 0x3FFU;
  const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1F) return sign * std::numeric_limits<float>::infinity();
  if (exponent == 0) return sign * static_cast<float>(rest) * 0x1p-24F;
  return sign * std::bit_cast<float>((exponent + 127 - 15) << 23 | rest << 13);
}

void compress(const Compression& compression, std::span<float> values, std::span<float> residual) {
  switch (compression.kind) {
    case Compression::Kind::none:
      std::fill(residual.begin(), residual.end(), 0.0F);
      return;
    case Compression::Kind::fp16:
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float sent = nearest_half(values[i]);
        residual[i] = values[i] - sent;
        values[i] = sent;
      }
      return;
    case Compression::Kind::top_k:
      return pick_largest(compression.picked(values.size()), values, residual);
  }
}

}  // namespace evener
