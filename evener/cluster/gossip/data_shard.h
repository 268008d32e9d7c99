// The rows that one of several peers trains on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/data/batches.h"

namespace evener {

/// How many rows of an epoch the peer with this rank trains on.
inline std::size_t share_of(std::size_t rows, std::size_t rank, std::size_t peers) {
  return (rows + peers - 1 - rank) / peers;
}
/// Steps of a pass over so many rows. The last batch may be smaller.
inline std::uint64_t steps_of_pass(std::size_t rows, std::size_t batch) {
  return std::max<std::uint64_t>(1, (rows + batch - 1) / batch);
}

/// Every n-th row of an epoch's order, starting at the peer's rank, epoch after epoch.
class DataShard {
 public:
  /// `work` outlives it. `steps`: steps that are already done.
  DataShard(const GossipWork& work, std::size_t rank, std::size_t peers, std::uint64_t steps)
      : work_(work), rank_(rank), peers_(peers) {
    const std::uint64_t a_pass = steps_of_pass(share_of(work.rows.size(), rank, peers), work.batch);
    epoch_ = steps / a_pass;
    if (steps % a_pass == 0) return;
    shuffle();
    next_ = static_cast<std::size_t>(steps % a_pass) * work.batch;
  }
  /// The rows of the next step.
  std::span<const std::uint32_t> next() {
    if (next_ >= order_.size()) shuffle();
    const std::size_t size = std::min(work_.batch, order_.size() - next_);
    next_ += size;
    return std::span(order_).subspan(next_ - size, size);
  }

 private:
  void shuffle() {
    order_.clear();
    const auto all = shuffled_rows(work_.rows.size(), work_.seed, epoch_++);
    for (std::size_t i = rank_; i < all.size(); i += peers_) order_.push_back(work_.rows[all[i]]);
    next_ = 0;
  }

  const GossipWork& work_;
  std::size_t rank_, peers_;
  std::uint64_t epoch_ = 0;  // passes over its share that have begun
  std::vector<std::uint32_t> order_;
  std::size_t next_ = 0;
};

}  // namespace evener
