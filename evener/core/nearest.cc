#include "evener/core/nearest.h"

#include <algorithm>
#include <vector>

namespace evener {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows i-2, i-1 and i of the usual table; the oldest serves the swap of two neighbours.
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max(name.size() / 3, std::size_t{1}) + 1;
  for (const auto& candidate : candidates) {
    // "batch-size" matches "global-batch-size", whatever their edit distance.
    const bool part = name.size() >= 3 && candidate.find(name) != std::string::npos;
    const std::size_t distance = part ? 1 : edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates,
                         const std::string& prefix) {
  const std::string found = nearest(name, candidates);
  return found.empty() ? "" : " (did you mean '" + prefix + found + "'?)";
}

}  // namespace evener
