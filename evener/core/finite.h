// Checks that all numbers are finite, at memory bandwidth.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace evener {

inline bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7F800000;  // all of its bits: inf or NaN
  constexpr std::size_t kLanes = 16;               // independent, so that the loop vectorizes
  std::array<std::uint32_t, kLanes> largest{};
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t exponent = std::bit_cast<std::uint32_t>(values[i + lane]) & kExponent;
      largest[lane] = exponent > largest[lane] ? exponent : largest[lane];
    }
  }
  for (; i < values.size(); ++i) {
    const std::uint32_t exponent = std::bit_cast<std::uint32_t>(values[i]) & kExponent;
    largest[0] = exponent > largest[0] ? exponent : largest[0];
  }
  for (const std::uint32_t exponent : largest) {
    if (exponent == kExponent) return false;
  }
  return true;
}

}  // namespace evener
