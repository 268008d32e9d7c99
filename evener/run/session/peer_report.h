// What a gossiping peer tells while it trains: its progress, and after each epoch of all peers how
// good its own model is.
#pragma once

#include <optional>

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/core/time.h"
#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/artifacts/run_directory.h"
#include "evener/run/options/options.h"
#include "evener/run/report/reporter.h"
#include "evener/run/session/data.h"

namespace evener {

class PeerReport {
 public:
  /// All outlive it. The best model so far is saved in the directory, and `start` knows of it;
  /// without one another peer's evaluations are shown, and there are none here.
  PeerReport(const TrainOptions& options, const TrainingData& data, const GossipWork& work,
             PeerReplica& replica, Reporter& reporter, Checkpoint& start,
             const RunDirectory* directory);

  /// After each step.
  void step(double epochs, const GossipResult& so_far);
  /// All epochs are done, and the device holds the mean of all models; how good that is.
  Metrics finish(const GossipResult& result);
  double samples_per_second() const { return state_.samples_per_second; }
  Seconds seconds() const { return clock_.elapsed(); }
  /// Between the peers' models, when it was told last; nothing: it has met none.
  std::optional<double> distance() const { return distance_; }

 private:
  Metrics end_epoch(std::uint64_t epoch, const GossipResult& so_far);
  Metrics evaluated() const;
  void keep_best(const Metrics& metrics, std::uint64_t epoch);
  void measure_distance(const GossipResult& so_far);

  const TrainOptions& options_;
  const TrainingData& data_;
  PeerReplica& replica_;
  Reporter& reporter_;
  Checkpoint& start_;
  const RunDirectory* directory_;
  bool evaluates_;
  std::uint64_t epoch_;  // that was told of last
  ProgressState state_;
  // When its first step was done: speed is that of all peers since then.
  double first_epochs_ = -1;
  Seconds first_ = 0;
  Seconds evaluating_ = 0;
  std::optional<double> distance_;
  std::uint64_t met_ = 0;  // when it was told last, and the squares
  double apart_ = 0;
  Stopwatch clock_;
};

}  // namespace evener
