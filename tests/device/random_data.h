// Random networks and data for tests of devices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "evener/core/random.h"
#include "evener/data/dataset.h"

namespace evener {

struct RandomRows {
  std::uint32_t most = 8;  // features of a row
  float grain = 0;         // values are multiples of this; 0: any values
};

/// Rows with up to `most` features of values in [-1, 1] and up to four labels, some with none.
inline Dataset random_data(Random& random, std::size_t rows, std::uint32_t features,
                           std::uint32_t labels, const RandomRows& kind = {}) {
  const auto pick = [&](std::uint32_t limit, std::uint32_t count) {
    std::vector<std::uint32_t> picked;
    for (std::uint32_t i = 0; i < count; ++i) {
      picked.push_back(static_cast<std::uint32_t>(random.below(limit)));
    }
    std::sort(picked.begin(), picked.end());
    picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
    return picked;
  };
  CsrArrays x, y;
  for (std::size_t r = 0; r < rows; ++r) {
    for (const auto f : pick(features, static_cast<std::uint32_t>(random.below(kind.most + 1)))) {
      const auto value = static_cast<float>(2 * random.uniform() - 1);
      x.indices.push_back(f);
      x.values.push_back(kind.grain > 0 ? kind.grain * std::round(value / kind.grain) : value);
    }
    x.offsets.push_back(x.indices.size());
    for (const auto l : pick(labels, static_cast<std::uint32_t>(random.below(5)))) {
      y.indices.push_back(l);
    }
    y.offsets.push_back(y.indices.size());
  }
  return make_dataset(std::move(x), features, std::move(y), labels);
}

}  // namespace evener
