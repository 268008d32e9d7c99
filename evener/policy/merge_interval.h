// How many rows are trained between two merges (mega-batch=auto, ours): so many that merges take at
// most a share of the time. A merge costs each worker the time from its last step to the end of the
// merge: it waits for slower workers, and the replicas travel. Frequent merges keep replicas alike,
// so the interval is the shortest that the share allows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "evener/core/seconds.h"

namespace evener {

class MergeInterval {
 public:
  /// `fixed`: rows; 0: by cost. `share`: of the time. Bounds in rounds, one batch of each worker.
  MergeInterval(std::size_t fixed, double share) : fixed_(fixed), share_(share) {}

  bool by_cost() const { return fixed_ == 0; }
  /// Rows of the next mega-batch, where a round has so many.
  std::size_t rows(std::size_t round) const {
    if (!by_cost()) return fixed_;
    return std::max<std::size_t>(1, static_cast<std::size_t>(rounds_) * round);
  }

  void began(Seconds now, std::size_t workers) {
    began_ = now;
    last_.assign(workers, now);
  }
  void finished(int worker, Seconds now) {
    if (last_.size() <= static_cast<std::size_t>(worker)) last_.resize(worker + 1U, began_);
    last_[static_cast<std::size_t>(worker)] = now;
  }
  /// A whole mega-batch of `workers` workers is merged.
  void merged(Seconds now, const std::vector<int>& workers) {
    double trained = 0, lost = 0;
    for (const int worker : workers) {
      trained += last_.at(static_cast<std::size_t>(worker)) - began_;
      lost += now - last_.at(static_cast<std::size_t>(worker));
    }
    if (trained <= 0) return;
    const double due = rounds_ * lost / (trained * share_);
    // Half the way, and at most twice as far, so that one long wait does not count for much.
    rounds_ = std::clamp((rounds_ + std::clamp(due, rounds_ / 2, rounds_ * 2)) / 2, kLeast, kMost);
  }

 private:
  static constexpr double kLeast = 1, kMost = 100;

  std::size_t fixed_;
  double share_;
  double rounds_ = 4;
  Seconds began_ = 0;
  std::vector<Seconds> last_;  // when each worker ended its last step
};

}  // namespace evener
