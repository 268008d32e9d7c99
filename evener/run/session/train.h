// A training run from data to model files.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/cluster/parameter_server/coordinator.h"
#include "evener/device/device.h"
#include "evener/nn/metrics.h"
#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/devices/devices.h"
#include "evener/run/options/options.h"
#include "evener/run/options/resolve.h"
#include "evener/run/report/reporter.h"
#include "evener/runtime/timeline.h"

namespace evener {

/// What surrounds a run and is not part of it: two runs with the same options in different
/// context give the same model.
struct RunContext {
  std::string cache_directory;  // where --cache-dir names none; empty: no cache
  DeviceContext devices;
  ReporterOptions reporter;
  /// Called when the first step is about to be done: only from then on is there anything that an
  /// interruption has to save.
  std::function<void()> training_begins;
  /// Asked after each step: not 0 is a signal's number, and the run ends with a checkpoint.
  std::function<int()> interrupted;
  /// Set: nothing is timed here, these devices are simulated instead.
  std::optional<VirtualTimeOptions> virtual_time;
  /// Set: nodes train, and the device here evaluates.
  std::shared_ptr<ClusterCoordinator> nodes;
  /// Set: this process is one of these gossiping peers.
  std::optional<GossipPeerOptions> peers;
  /// Of a peer that was told what is trained: what its data must be.
  std::optional<DataFingerprint> data_fingerprint;
  std::string device_strategy;  // of such a peer's several devices; empty: as --strategy auto
  std::string device_strategy_option = "--device-strategy";  // where the user names it
  /// Of peers. False: another one keeps the run directory.
  bool keeps_run = true;
};

/// What one device did in this session.
struct WorkerResult {
  std::string name;
  std::uint64_t tasks = 0, updates = 0, rows = 0;
  std::size_t batch = 0;             // rows of its last step
  double compute = 0, transfer = 0;  // shares of the time; the rest it waited
  double staleness = 0;        // mean number of updates by others between a task's start and end
  std::uint64_t bytes = 0;     // of its pulls and pushes, or of its messages
  std::uint64_t rejected = 0;  // pushes that were refused, offers that were declined
  bool lost = false;           // it has failed or gone
  StalenessCounts staleness_counts{};
  std::uint64_t exchanges = 0;  // with a gossiping peer
  bool came = true;             // false: a place of a cluster that nobody had
};

std::vector<WorkerResult> worker_results(const Timeline& timeline, double seconds);

struct TrainResult {
  std::string directory;
  std::string ended;  // "epochs", "early stop" or "signal"
  int signal = 0;
  Progress progress;
  double train_loss = 0;            // mean of the last complete epoch of this session
  double samples_per_second = 0;    // of this session, evaluations and checkpoints not counted
  Metrics metrics;                  // of the last evaluation; empty without any
  std::uint64_t metrics_epoch = 0;  // after which that was
  bool metrics_are_final = true;    // nothing was trained after it: they are the final model's
  std::string best_by;              // the metric that decides; empty without evaluation
  bool virtual_time = false;        // all seconds are those of simulated devices
  std::string strategy;             // with the options that differ from its defaults
  /// Between replicas at the end of the last epoch (runtime/replica_distance.h), where each worker
  /// has one.
  std::optional<double> replica_distance{};
  std::vector<WorkerResult> workers;
  std::vector<std::string> notes;  // what was measured and decided, devices that were lost
  bool was_complete = false;       // a finished run was resumed: nothing was done
};

/// Whether a checkpoint's options are those of a run in virtual time.
bool is_simulation(const OptionTexts& checkpoint_options);

/// Runs to the end or to the next interruption. Bit for bit the same with and without interruptions
/// in between, given the same data, options, device and number of threads.
TrainResult train(const TrainOptions& options, const RunContext& context);

}  // namespace evener
