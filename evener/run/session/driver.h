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
  double epochs = 0;         // of the run, including the part of the last one
};

/// Callbacks for a caller that observes a run.
struct DriverOptions {
  /// Every evaluation merges replicas, so with more than one, merging strategies merge more often.
  std::uint32_t evaluations_per_epoch = 1;
  /// If not 0: evaluates after each so many seconds of training, and not where epochs end.
  Seconds evaluation_interval = 0;
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
  double epochs_done() const;  // including the part of the current one
  /// Whether the run ends here: by --epochs or --seconds.
  bool is_done() const;
  /// Whether the time of the run has ended within an epoch.
  bool is_cut_short() const {
    return options_.seconds > 0 && is_done() && backend_.position().next_row > 0;
  }
  /// Trains until the end of the epoch or of the time, an evaluation, a checkpoint or a signal.
  void train_part();
  bool after_step(const StepReport& report);
  /// Error if a data file was truncated while it was read.
  void check_data() const;
  void take_news();
  /// Evaluates if it is due, and closes the epoch unless the time has cut it short; false if
  /// interrupted before that.
  bool finish_epoch();
  bool is_evaluation_due() const;
  /// Whether the end of epoch `epoch` (counted from 1) is evaluated.
  bool evaluates(std::uint64_t epoch) const;
  bool evaluates_here() const { return data_.evaluation && backend_.keeps_run(); }
  /// Whether the end of epoch `epoch` (counted from 1) adds to the average.
  bool averages(std::uint64_t epoch) const;
  /// Sets `metrics_`; false if interrupted before that.
  bool evaluate_model();
  /// Keeps the parameters if `metrics_` are the best so far. Returns why that failed, or nothing.
  std::string keep_best(std::uint64_t epoch);
  /// Saves a checkpoint. A failure is reported, and the next checkpoint tries again.
  void save();
  /// The last attempt: `leave` throws the failure after it has saved the model.
  void save_at_end();
  /// Warns of the first of several failures.
  void note_failure(const std::string& failure);

  // The ends of `run`.
  TrainResult complete();
  TrainResult interrupt();
  TrainResult interrupt_preparation();
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
  Seconds next_evaluation_ = 0;  // by evaluation_interval
  bool checkpoint_due_ = false;  // by --checkpoint-minutes
  Seconds last_checkpoint_ = 0;  // by report_.elapsed(); it may have failed
  std::string unsaved_;          // why the last checkpoint or best model is not on disk
  std::string end_failure_;      // of save_at_end
  double train_seconds_ = 0;     // by the backend's clock
  double part_begin_ = 0;        // by the backend's clock
  double trial_seconds_ = 0;     // part of train_seconds_

  Metrics metrics_;  // of the last evaluation
  std::uint64_t metrics_epoch_ = 0;
  std::optional<std::uint64_t> metrics_step_;  // nullopt: the model was replaced since
};

}  // namespace evener
