// The progress of gossip peers in rows and epochs.
#include <algorithm>

#include "evener/cluster/gossip/data_shard.h"
#include "evener/cluster/gossip/gossip_peer.h"

namespace evener {

std::uint64_t rows_trained(const GossipWork& work, std::size_t rank, std::size_t peers,
                           std::uint64_t steps) {
  const std::size_t share = share_of(work.rows.size(), rank, peers);
  const std::uint64_t a_pass = steps_of_pass(share, work.batch);
  return steps / a_pass * share + std::min<std::uint64_t>(share, steps % a_pass * work.batch);
}

double epochs_done(const GossipWork& work, const std::vector<std::uint64_t>& steps) {
  std::uint64_t rows = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    rows += rows_trained(work, i, steps.size(), steps[i]);
  }
  return static_cast<double>(rows) / static_cast<double>(work.rows.size());
}

}  // namespace evener
