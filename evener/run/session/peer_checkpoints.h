// The checkpoints of gossiping peers: each keeps its own model and what it remembers beside it, or
// one of them keeps one for all.
#pragma once

#include <memory>
#include <vector>

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/core/time.h"
#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/artifacts/run_directory.h"
#include "evener/run/options/options.h"

namespace evener {

/// Takes out of a checkpoint what the peer remembers. Where another one has written it (one keeps
/// the run for all), that is its optimizer's vectors; all that the model holds is known then.
std::shared_ptr<const PeerReplicaState> peer_state_in(Checkpoint& start, int rank);

/// Steps by each of so many peers: those of the checkpoint, or where it was of another number of
/// peers as many of each as make its epochs.
std::vector<std::uint64_t> steps_in(const Checkpoint& start, const GossipWork& work,
                                    std::size_t peers);

class PeerCheckpoints {
 public:
  /// All outlive it; `start` is what is saved, with another model. `directory` null: none are.
  PeerCheckpoints(const TrainOptions& options, const GossipWork& work, int rank, Checkpoint& start,
                  const RunDirectory* directory);

  /// Whether --checkpoint-every or --checkpoint-minutes ask for one.
  bool due(double epochs) const;
  /// A model after so many steps of each.
  void save(std::span<const float> model, PeerReplicaState memory,
            const std::vector<std::uint64_t>& steps);

 private:
  const TrainOptions& options_;
  const GossipWork& work_;
  int rank_;
  Checkpoint& current_;
  const RunDirectory* directory_;
  double seconds_before_;
  double last_epochs_;  // at the last one
  Seconds last_ = 0;
  Stopwatch clock_;
};

}  // namespace evener
