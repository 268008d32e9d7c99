// The epoch loop of every run: train, evaluate, keep the best model, stop early, average,
// checkpoint, report, and end on a signal. What trains is a Backend.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "evener/nn/metrics.h"
#include "evener/run/session/backend.h"
#include "evener/run/session/checkpointing.h"
#include "evener/run/session/progress_report.h"
#include "evener/run/session/train.h"

namespace evener {

/// One evaluation.
struct EvaluationPoint {
  double epoch = 0;    // with the part of the current one
  double seconds = 0;  // of training in this session; evaluations are not counted
  const Metrics* metrics = nullptr;
  double train_loss = 0;  // mean of the epoch so far
  Communication communication;
  std::optional<double> replica_distance;
};

/// How far a session came, even if it failed.
struct SessionEnd {
  const Timeline* timeline = nullptr;
  double seconds = 0;        // as EvaluationPoint's
  double trial_seconds = 0;  // of these, in trials of devices
  std::uint64_t epochs = 0;
};

/// For a caller that follows a run.
struct DriverOptions {
  /// More than one also brings replicas together so often: strategies that merge then merge more.
  std::uint32_t evaluations_per_epoch = 1;
  std::function<void(const EvaluationPoint&)> evaluated;  // may be empty
  std::function<void(const SessionEnd&)> ended;           // may be empty
};

class Driver {
 public:
  /// All outlive it. The backend has started.
  Driver(const DriverOptions& driver_options, TrainOptions& options, const RunContext& context,
         const TrainingData& data, Backend& backend, Checkpointing& checkpoints,
         ProgressReport& report);

  /// The result lacks the directory and what `report` adds.
  TrainResult run();
  SessionEnd session_end() const;

 private:
  /// A part of an epoch, up to its end, an evaluation, a checkpoint or a signal.
  void train_part();
  bool after_step(const StepReport& report);
  void take_news();
  /// Evaluates if it is time and closes the epoch; false: interrupted before that.
  bool finish_epoch();
  /// Whether the end of epoch `epoch` (counted from 1) is evaluated.
  bool evaluates(std::uint64_t epoch) const {
    return epoch % options_.eval_every == 0 || epoch >= options_.epochs;
  }
  bool evaluates_here() const { return data_.evaluation && backend_.keeps_run(); }
  /// Whether the end of epoch `epoch` (counted from 1) adds to the average.
  bool averages(std::uint64_t epoch) const { return epoch + options_.average > options_.epochs; }
  /// Sets `metrics_`; false: interrupted before that.
  bool evaluate_model();
  /// Keeps the parameters if `metrics_` are the best so far.
  void keep_best(std::uint64_t epoch);
  void save();

  // The ways out of `run`.
  TrainResult complete();
  TrainResult interrupt();
  TrainResult leave(const std::string& ended, int signal);

  int interrupted() const { return context_.interrupted ? context_.interrupted() : 0; }

  const DriverOptions& driver_options_;
  TrainOptions& options_;
  const RunContext& context_;
  const TrainingData& data_;
  Backend& backend_;
  Checkpointing& checkpoints_;
  ProgressReport& report_;
  std::size_t optimizer_vectors_;
  std::string best_by_;

  bool epoch_done_ = false;      // by the last part
  std::uint64_t closed_ = 0;     // the last epoch that was closed
  std::uint64_t part_end_ = 0;   // the row at which the next evaluation within an epoch is due
  bool checkpoint_due_ = false;  // by --checkpoint-minutes
  Seconds last_checkpoint_ = 0;  // of report_.elapsed()
  double train_seconds_ = 0;     // in parts, by the backend's clock
  double part_begin_ = 0;        // of the backend's clock
  double trial_seconds_ = 0;     // of train_seconds_

  Metrics metrics_;  // of the last evaluation
  std::uint64_t metrics_epoch_ = 0;
  std::optional<std::uint64_t> metrics_step_;  // nothing: of a model that was replaced since
};

}  // namespace evener
