// A tiny task that a small network learns in a few epochs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "evener/core/random.h"

namespace evener {

/// Label l goes with features 2l and 2l + 1; every row has one noise feature and one or two labels.
inline std::string easy_data(std::size_t rows, std::uint64_t seed) {
  constexpr std::uint32_t kLabels = 6;
  std::string text = std::to_string(rows) + " 20 6\n";
  Random random(seed);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto a = static_cast<std::uint32_t>(random.below(kLabels));
    const auto b = static_cast<std::uint32_t>(random.below(kLabels));
    const auto low = std::min(a, b), high = std::max(a, b);
    text += std::to_string(low);
    if (high != low) text += "," + std::to_string(high);
    for (const auto label : low == high ? std::vector{low} : std::vector{low, high}) {
      text += " " + std::to_string(2 * label) + ":1 " + std::to_string(2 * label + 1) + ":0.5";
    }
    text += " " + std::to_string(12 + random.below(8)) + ":1\n";
  }
  return text;
}

}  // namespace evener
