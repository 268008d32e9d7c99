// The k best of many scored items, in one pass: an item costs a comparison unless it is among the
// best so far.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace evener {

struct Scored {
  std::uint32_t id;
  float score;
};

/// Better first; equal scores: the smaller id first. A total order, so results do not depend on the
/// order of arrival.
inline constexpr auto kBetterFirst = [](const Scored& a, const Scored& b) {
  return a.score > b.score || (a.score == b.score && a.id < b.id);
};

class BestOf {
 public:
  void begin(std::size_t k) {
    k_ = k;
    items_.clear();
    items_.reserve(4 * k + 64);
    least_ = k == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::lowest();
  }

  /// Items with a smaller score are not among the best.
  float least() const { return least_; }

  void add(std::uint32_t id, float score) {
    if (score < least_) return;
    items_.push_back({id, score});
    if (items_.size() >= 4 * k_ + 32) shrink();
  }

  /// The best, in no particular order; valid until the next begin.
  std::span<const Scored> finish() {
    if (items_.size() > k_) shrink();
    return items_;
  }
  std::span<const Scored> finish_sorted() {
    finish();
    std::sort(items_.begin(), items_.end(), kBetterFirst);
    return items_;
  }

 private:
  void shrink() {
    if (k_ == 0) {
      items_.clear();
      least_ = std::numeric_limits<float>::infinity();
      return;
    }
    const auto last = items_.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
    std::nth_element(items_.begin(), last, items_.end(), kBetterFirst);
    least_ = last->score;
    items_.resize(k_);
  }

  std::size_t k_ = 0;
  float least_ = 0;
  std::vector<Scored> items_;
};

}  // namespace evener
