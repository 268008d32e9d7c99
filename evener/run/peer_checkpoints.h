// The checkpoints of gossiping peers: each keeps its own model, or one of them keeps one for all.
#pragma once

#include "evener/cluster/gossip_peer.h"
#include "evener/core/time.h"
#include "evener/run/checkpoint.h"
#include "evener/run/options.h"
#include "evener/run/run_directory.h"

namespace evener {

class PeerCheckpoints {
 public:
  /// All outlive it; `start` is what is saved, with another model. `directory` null: none are.
  PeerCheckpoints(const TrainOptions& options, const GossipWork& work, Checkpoint& start,
                  const RunDirectory* directory);

  /// Whether --checkpoint-every or --checkpoint-minutes ask for one.
  bool due(double epochs) const;
  /// A model after so many epochs of all. What a peer has of the optimizer's state is not kept.
  void save(std::span<const float> model, double epochs);

 private:
  const TrainOptions& options_;
  const GossipWork& work_;
  Checkpoint& current_;
  const RunDirectory* directory_;
  double seconds_before_;
  double last_epochs_;  // at the last one
  Seconds last_ = 0;
  Stopwatch clock_;
};

}  // namespace evener
