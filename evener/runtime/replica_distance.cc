#include "evener/runtime/replica_distance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace evener {

double replica_distance(std::span<const FloatBuffer> replicas) {
  std::vector<const FloatBuffer*> present;
  for (const auto& replica : replicas) {
    if (replica.size() > 0) present.push_back(&replica);
  }
  if (present.size() < 2) return 0;
  // In double precision the mean of equal floats is exactly that float. There is one sum per
  // position in a block, so that the loops vectorize.
  constexpr std::size_t kBlock = 1024;
  std::array<double, kBlock> mean, squares{}, lengths{};
  const auto count = static_cast<double>(present.size());
  for (std::size_t at = 0; at < present.front()->size(); at += kBlock) {
    const std::size_t n = std::min(kBlock, present.front()->size() - at);
    std::fill_n(mean.begin(), n, 0.0);
    for (const auto* replica : present) {
      const float* own = replica->data() + at;
      for (std::size_t j = 0; j < n; ++j) mean[j] += own[j];
    }
    for (std::size_t j = 0; j < n; ++j) {
      mean[j] /= count;
      lengths[j] += mean[j] * mean[j];
    }
    for (const auto* replica : present) {
      const float* own = replica->data() + at;
      for (std::size_t j = 0; j < n; ++j) squares[j] += (own[j] - mean[j]) * (own[j] - mean[j]);
    }
  }
  const double squared_distance = std::accumulate(squares.begin(), squares.end(), 0.0) / count;
  const double length = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  return std::sqrt(squared_distance / std::max(length, 1e-30));
}

double pair_distance(std::span<const float> a, std::span<const float> b) {
  double squared_distance = 0, length = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const double d = static_cast<double>(a[j]) - b[j];
    const double m = 0.5 * (static_cast<double>(a[j]) + b[j]);
    squared_distance += d * d;
    length += m * m;
  }
  return std::sqrt(squared_distance / std::max(length, 1e-30));
}

// The mean square distance of two of n replicas is 2n / (n - 1) times the mean square distance of
// one from the mean of all.
double distance_by_pairs(double mean_square, std::size_t replicas) {
  const auto n = static_cast<double>(std::max<std::size_t>(replicas, 2));
  return std::sqrt(mean_square * (n - 1) / (2 * n));
}

}  // namespace evener
