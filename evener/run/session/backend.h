// The training backend of the session driver (driver.h): local devices, simulated devices, the
// workers of a cluster, or gossiping peers. backends.h has the factories.
//
// The driver runs the epoch loop. A backend trains one epoch, or a part of it, and loads and stores
// the model. Its methods are called in the order in which they are declared; `close` ends a
// session, after which another one may begin with `open`.
#pragma once

#include <functional>
#include <memory>
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
#include "evener/run/report/worker_result.h"
#include "evener/run/session/data.h"
#include "evener/runtime/engine.h"
#include "evener/runtime/step_counter.h"

namespace evener {

struct BackendContext {
  DeviceContext devices;
  std::function<void(const std::string&)> say;  // a line for the user
  std::function<int()> interrupted;             // not 0: a signal's number
  std::shared_ptr<MainSteps> main_steps{};      // counts the steps on the calling thread, or null
};

/// Events since the driver's last call.
struct BackendNews {
  std::vector<std::string> notes;         // for the user; recorded
  std::vector<std::string> warnings;      // for the user
  std::vector<std::string> lost_workers;  // the reason for each loss
  bool resolved_auto = false;             // trials have chosen devices: the options have changed
  Seconds resolved_at = 0;                // when, by the backend's clock
};

/// A backend's report between epochs and at the end of a session.
struct BackendReport {
  std::string strategy;  // with the options that differ from its defaults
  const Timeline* timeline = nullptr;
  std::vector<WorkerResult> workers;
  bool knows_all_workers = true;             // false: knows only its own times
  Communication communication;               // in this session
  std::string exchanges_name;                // the strategy's name for them; empty: none
  std::optional<double> replica_distance{};  // at the end of the last epoch
};

/// A backend's additions to the end of a session.
struct BackendSummary {
  std::vector<std::string> notes;
  std::vector<LogField> fields;  // for the "end" record
};

class Backend {
 public:
  using AfterStep = std::function<bool(const StepReport&)>;

  virtual ~Backend() = default;

  virtual RunKind kind() const = 0;
  /// False: another process of this run keeps the run directory and evaluates.
  virtual bool keeps_run() const { return true; }
  /// True: the run may be unattended. If it diverges, it rolls back to its last checkpoint, and its
  /// errors say how to resume.
  virtual bool is_unattended() const { return false; }

  // Before training.

  /// Called before the data is read. Refuses options that do not apply (UsageError), opens the
  /// devices and replaces `auto`. `resumed`: the checkpoint to resume from, or null. Returns notes.
  virtual std::vector<std::string> open(TrainOptions& options, const Checkpoint* resumed,
                                        const BackendContext& context) = 0;
  /// Called before the run directory is created. Error if the data or a model of this size does not
  /// fit.
  virtual void check(const TrainOptions& options, const TrainingData& data,
                     const Network& network) = 0;
  /// Entries of a checkpoint other than the run's options, by name.
  virtual void add_keys(OptionTexts&) const {}
  /// Moves the vectors out of `start`. `data` must outlive the session.
  virtual void start(const TrainOptions& options, const TrainingData& data, Checkpoint& start) = 0;
  /// Long work before the first step, with signals caught; may complete the model of `start`, which
  /// is the argument of `start` still. False: interrupted, and nothing can be saved.
  virtual bool prepare(Checkpoint& /*start*/) { return true; }
  /// How long that took in this session. It counts as training.
  virtual Seconds preparation_seconds() const { return 0; }
  /// "training on cpu:1 by sync".
  virtual std::string description() const = 0;
  /// A hint if the options are slow on these devices; empty: none.
  virtual std::string hint() const { return ""; }
  /// Waits for other processes of the run, if it needs them to begin.
  virtual void join() {}

  // Training. An epoch is one pass over all rows by all workers, those of other processes included.

  /// Trains to the end of the epoch and returns true; pauses if `after_step` returns false or a
  /// signal arrives. No task is in progress during a pause.
  virtual bool run_epoch(bool measures_distance, const AfterStep& after_step) = 0;
  /// At the end of an epoch that is not closed: that epoch, with all its rows done.
  virtual Position position() const = 0;
  virtual void close_epoch() = 0;
  /// Mean over the epoch's rows so far, or over the last steps.
  virtual double loss() const = 0;
  /// Seconds of training in this session; virtual in a simulation.
  virtual Seconds now() const = 0;
  /// May change the options, if trials have replaced `auto`.
  virtual BackendNews take_news(TrainOptions& options) = 0;
  virtual bool has_resolved_auto() const { return true; }
  virtual BackendReport report(double seconds) const = 0;
  /// For `evener status`.
  virtual void publish_status(const ProgressState&, double /*seconds*/) {}

  // The model, while training is paused.

  /// Calls use(replica) with a replica of the model; calls it again with another one if a device
  /// fails.
  virtual void evaluate(const std::function<void(Replica&)>& use) = 0;
  virtual FloatBuffer take_parameters() = 0;
  virtual void give_parameters(FloatBuffer parameters) = 0;
  /// Saves and restores everything that an exact resume needs. Vectors of the state after those of
  /// the optimizer belong to the driver.
  virtual void take_state(Checkpoint& checkpoint) = 0;
  virtual void give_state(Checkpoint& checkpoint) = 0;

  // The end.

  /// No more epochs follow, because all are done or a signal arrived. Notifies other processes.
  virtual void finish() {}
  virtual BackendSummary summary() const { return {}; }
  /// Releases the resources of `start`. The argument is the reason if the session failed, else
  /// empty.
  virtual void close(const std::string& error) = 0;
  /// The run has failed and will not continue.
  virtual void give_up(const std::string& /*why*/) {}
};

}  // namespace evener
