// The epoch loop of every run: train, evaluate, keep the best model, stop early, average,
// checkpoint, report, and end on a signal. A Backend does the training.
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
  double epoch = 0;    // including the part of the current epoch
  double seconds = 0;  // of training in this session, without evaluations
  const Metrics* metrics = nullptr;
  double train_loss = 0;  // mean over the epoch so far
  Communication communication;
  std::optional<double> replica_distance;
};

/// The progress of a session, even if it failed.
struct FinishedSession {
  const Timeline* timeline = nullptr;
  double seconds = 0;        // as in EvaluationPoint
  double trial_seconds = 0;  // part of it in trials of devices
  std::uint64_t epochs = 0;
};

/// Callbacks for a caller that observes a run.
struct DriverOptions {
  /// Every evaluation merges replicas, so with more than one, merging strategies merge more often.
  std::uint32_t evaluations_per_epoch = 1;
  std::function<void(const EvaluationPoint&)> evaluated;  // may be empty
  std::function<void(const FinishedSession&)> ended;      // may be empty
};

class Driver {
 public:
  /// All arguments must outlive the driver. The backend has started.
  Driver(const DriverOptions& driver_options, TrainOptions& options, const RunContext& context,
         const TrainingData& data, Backend& backend, Checkpointing& checkpoints,
         ProgressReport& report);

  /// The result lacks the directory and the fields that `report` adds.
  TrainResult run();
  FinishedSession session_end() const;

 private:
  /// Trains until the end of the epoch, an evaluation, a checkpoint or a signal.
  void train_part();
  bool after_step(const StepReport& report);
  void take_news();
  /// Evaluates if it is due, and closes the epoch; false if interrupted before that.
  bool finish_epoch();
  /// Whether the end of epoch `epoch` (counted from 1) is evaluated.
  bool evaluates(std::uint64_t epoch) const {
    return epoch % options_.eval_every == 0 || epoch >= options_.epochs;
  }
  bool evaluates_here() const { return data_.evaluation && backend_.keeps_run(); }
  /// Whether the end of epoch `epoch` (counted from 1) adds to the average.
  bool averages(std::uint64_t epoch) const { return epoch + options_.average > options_.epochs; }
  /// Sets `metrics_`; false if interrupted before that.
  bool evaluate_model();
  /// Keeps the parameters if `metrics_` are the best so far.
  void keep_best(std::uint64_t epoch);
  void save();

  // The ends of `run`.
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

  bool epoch_done_ = false;      // the last part ended the epoch
  std::uint64_t closed_ = 0;     // last closed epoch
  std::uint64_t part_end_ = 0;   // row of the next evaluation within the epoch
  bool checkpoint_due_ = false;  // by --checkpoint-minutes
  Seconds last_checkpoint_ = 0;  // by report_.elapsed()
  double train_seconds_ = 0;     // by the backend's clock
  double part_begin_ = 0;        // by the backend's clock
  double trial_seconds_ = 0;     // part of train_seconds_

  Metrics metrics_;  // of the last evaluation
  std::uint64_t metrics_epoch_ = 0;
  std::optional<std::uint64_t> metrics_step_;  // nullopt: the model was replaced since
};

}  // namespace evener
