// The arithmetic of merges, on one block of all replicas at a time. An empty view belongs to a
// worker that is not present.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <vector>

#include "evener/core/buffer.h"

namespace evener {

/// The longest block.
inline constexpr std::size_t kMostBlock = 4096;

/// sum[j] = sum_i weights[i] * views[i][at + j], for n numbers.
inline void weighted_sum(const std::vector<FloatBuffer>& views, const std::vector<double>& weights,
                         std::size_t at, std::size_t n, std::array<float, kMostBlock>& sum) {
  std::fill_n(sum.begin(), n, 0.0F);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const auto weight = static_cast<float>(weights[i]);
    if (views[i].size() == 0 || weight == 0) continue;
    for (std::size_t j = 0; j < n; ++j) sum[j] += weight * views[i][at + j];
  }
}

/// views[i][at + j] = sum[j], for n numbers.
inline void copy_to_all(const std::array<float, kMostBlock>& sum, std::size_t at, std::size_t n,
                        std::vector<FloatBuffer>& views) {
  for (FloatBuffer& view : views) {
    if (view.size() > 0) std::copy_n(sum.begin(), n, view.data() + at);
  }
}

inline double sum_of_weights(const std::vector<double>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

/// Elastic averaging of n numbers: d_i = pull (w_i - z); w_i -= d_i; returns z + sum d_i through
/// `centre`, plus gamma (z - previous), where `previous` is not null and becomes z.
inline void pull_together(std::vector<FloatBuffer>& views, float pull, float gamma, std::size_t at,
                          std::size_t n, FloatBuffer& centre, FloatBuffer* previous) {
  for (std::size_t j = at; j < at + n; ++j) {
    const float z = centre[j];
    float sum = 0;
    for (FloatBuffer& view : views) {
      if (view.size() == 0) continue;
      const float distance = pull * (view[j] - z);
      view[j] -= distance;
      sum += distance;
    }
    if (previous != nullptr) {
      sum += gamma * (z - (*previous)[j]);
      (*previous)[j] = z;
    }
    centre[j] = z + sum;
  }
}

}  // namespace evener
