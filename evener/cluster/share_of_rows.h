// The rows that one of several peers trains on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "evener/cluster/gossip_peer.h"
#include "evener/data/batches.h"

namespace evener {

/// Each n-th row of an epoch's order, beginning with the peer's rank, and then the next epoch's.
class ShareOfRows {
 public:
  /// `work` outlives it.
  ShareOfRows(const GossipWork& work, std::size_t rank, std::size_t peers)
      : work_(work), rank_(rank), peers_(peers), epoch_(static_cast<std::uint64_t>(work.done)) {}
  /// Of the next step.
  std::span<const std::uint32_t> next() {
    if (next_ >= order_.size()) {
      order_.clear();
      const auto all = shuffled_rows(work_.rows.size(), work_.seed, epoch_++);
      for (std::size_t i = rank_; i < all.size(); i += peers_) order_.push_back(work_.rows[all[i]]);
      next_ = 0;
    }
    const std::size_t size = std::min(work_.batch, order_.size() - next_);
    next_ += size;
    return std::span(order_).subspan(next_ - size, size);
  }

 private:
  const GossipWork& work_;
  std::size_t rank_, peers_;
  std::uint64_t epoch_;
  std::vector<std::uint32_t> order_;
  std::size_t next_ = 0;
};

/// Steps that each has done of a run that is resumed.
inline std::uint64_t steps_before(const GossipWork& work, std::size_t peers) {
  const double rows = work.done * static_cast<double>(work.rows.size());
  return static_cast<std::uint64_t>(rows / static_cast<double>(work.batch * peers));
}

}  // namespace evener
