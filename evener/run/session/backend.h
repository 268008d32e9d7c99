// What the session driver (driver.h) trains with: local devices, simulated devices, the workers of
// a cluster, or gossiping peers. backends.h makes them.
//
// The driver has the epoch loop; a backend trains one epoch, or a part of it, and gives and takes
// the model. Its methods are called in the order in which they are declared; `close` ends a
// session, after which another one may begin with `open`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evener/device/device.h"
#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/artifacts/run_kind.h"
#include "evener/run/devices/devices.h"
#include "evener/run/options/options.h"
#include "evener/run/report/progress_bar.h"
#include "evener/run/report/sinks.h"
#include "evener/run/session/data.h"
#include "evener/run/session/worker_result.h"
#include "evener/runtime/engine.h"

namespace evener {

struct BackendContext {
  DeviceContext devices;
  std::function<void(const std::string&)> say;  // a line for the user
  std::function<int()> interrupted;             // not 0: a signal's number
};

/// What has happened since the driver asked last.
struct BackendNews {
  std::vector<std::string> notes;         // for the user, kept in the run's records
  std::vector<std::string> warnings;      // for the user
  std::vector<std::string> lost_workers;  // why each was lost
  bool resolved_auto = false;             // trials have chosen devices: the options have changed
};

/// What a backend reports between epochs and at the end of a session.
struct BackendReport {
  std::string strategy;  // with the options that differ from its defaults
  const Timeline* timeline = nullptr;
  std::vector<WorkerResult> workers;
  bool knows_all_workers = true;             // false: only its own times
  Communication communication;               // in this session
  std::string exchanges_name;                // what the strategy calls them; empty: it has none
  std::optional<double> replica_distance{};  // when the last epoch ended
};

/// What a backend adds at the end of a session.
struct BackendSummary {
  std::vector<std::string> notes;
  std::vector<Field> fields;  // of the "end" record
};

class Backend {
 public:
  using AfterStep = std::function<bool(const StepReport&)>;

  virtual ~Backend() = default;

  virtual RunKind kind() const = 0;
  /// False: another process of this run keeps the run directory and evaluates.
  virtual bool keeps_run() const { return true; }
  /// True: nobody may be watching. The run rolls back to its last checkpoint where it diverges, and
  /// its errors say how to resume.
  virtual bool is_unattended() const { return false; }

  // Before training.

  /// Refuses options that do not apply (UsageError), opens the devices and replaces `auto`. Before
  /// the data is read. `resumed`: the checkpoint to resume from, or null. Returns notes.
  virtual std::vector<std::string> open(TrainOptions& options, const Checkpoint* resumed,
                                        const BackendContext& context) = 0;
  /// Error where this data or a model of this size does not fit. Before there is a run directory.
  virtual void check(const TrainOptions& options, const TrainingData& data,
                     const Network& network) = 0;
  /// What a checkpoint needs beside the run's options, by name.
  virtual void add_keys(OptionTexts&) const {}
  /// Takes the vectors of `start`. `data` outlives the session.
  virtual void start(const TrainOptions& options, const TrainingData& data, Checkpoint& start) = 0;
  /// "training on cpu:1 by sync".
  virtual std::string description() const = 0;
  /// A line for a user whose options are slow here, with what to set; empty: none.
  virtual std::string hint() const { return ""; }
  /// Waits for other processes of the run where it needs them to begin.
  virtual void join() {}

  // Training. An epoch is one pass over all rows by all workers, those of other processes included.

  /// Trains to the end of the epoch and returns true; or pauses where `after_step` returns false or
  /// a signal has come. While paused nothing is in progress.
  virtual bool run_epoch(bool measures_distance, const AfterStep& after_step) = 0;
  /// At the end of an epoch that is not closed yet: that epoch, with all its rows done.
  virtual Position position() const = 0;
  virtual void close_epoch() = 0;
  /// Mean over the epoch's rows so far, or over the last steps.
  virtual double loss() const = 0;
  /// Of training in this session; virtual in a simulation.
  virtual Seconds now() const = 0;
  /// May change the options where trials have replaced `auto`.
  virtual BackendNews take_news(TrainOptions& options) = 0;
  virtual bool has_resolved_auto() const { return true; }
  virtual BackendReport report(double seconds) const = 0;
  /// For `evener status`.
  virtual void publish_status(const ProgressState&, double /*seconds*/) {}

  // The model, while training is paused.

  /// Calls use(replica) with a replica that holds it; again with another one if a device fails.
  virtual void evaluate(const std::function<void(Replica&)>& use) = 0;
  virtual FloatBuffer take_parameters() = 0;
  virtual void give_parameters(FloatBuffer parameters) = 0;
  /// Everything that an exact resume needs: into a checkpoint, and back. Vectors of the state
  /// behind the optimizer's are the driver's.
  virtual void take_state(Checkpoint& checkpoint) = 0;
  virtual void give_state(Checkpoint& checkpoint) = 0;

  // The end.

  /// No more epochs follow, because all are done or a signal has come: says so to other processes.
  virtual void finish() {}
  virtual BackendSummary summary() const { return {}; }
  /// Releases what `start` made. Not empty: the session has failed, and why.
  virtual void close(const std::string& error) = 0;
  /// The run has failed for good.
  virtual void give_up(const std::string& /*why*/) {}
};

}  // namespace evener
