// The state of one session of a run, and what happens to it between steps. Used by train.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evener/core/time.h"
#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/artifacts/run_directory.h"
#include "evener/run/devices/device_selector.h"
#include "evener/run/report/reporter.h"
#include "evener/run/session/data.h"
#include "evener/run/session/train.h"

namespace evener {

/// Whether the metric has stayed away for as long as the options allow.
bool stops_early(const TrainOptions& options, const Progress& progress);
/// The metric that decides which model is best.
std::string deciding_metric(const TrainOptions& options);

/// Writes down which devices a run goes on with; returns the checkpoints' options from then on.
using KeepChoice = std::function<OptionTexts(const DeviceChoice&)>;

class Trainer {
 public:
  /// `setup` has strategy, batch sizes and devices; `start` holds the model to go on from, its
  /// options are those of the run. Set `keep_choice`: the first batches show which devices to use.
  Trainer(const TrainOptions& options, const RunContext& context, Reporter& reporter,
          const RunDirectory& directory, EngineSetup setup, TrainingData data, Checkpoint start,
          KeepChoice keep_choice);

  TrainResult run();
  /// Leaves in the measurements that the run failed, and why.
  void record_failure(const std::string& why);

 private:
  bool after_step(const StepReport& report);
  /// What trials, policy and devices have to say, as soon as there is something.
  void tell_news();
  void say_and_keep(const std::string& text);
  /// Keeps what was told to the user for programs too.
  void keep_note(const std::string& text);
  /// Whether the end of epoch `epoch` (counted from 1) is looked at.
  bool looks(std::uint64_t epoch) const {
    return epoch % options_.eval_every == 0 || epoch >= options_.epochs;
  }
  /// Evaluates if it is time and closes the epoch's books; false: interrupted before that.
  bool finish_epoch();
  int interrupted() const { return context_.interrupted ? context_.interrupted() : 0; }

  /// Sets `metrics_`; false: interrupted before that.
  bool evaluate_replica();
  /// Compares `metrics_` with the best so far and saves the parameters if they are better.
  void judge(std::uint64_t epoch);
  void report_epoch(std::uint64_t epoch, bool evaluated);
  void record_workers();

  /// Whether the end of epoch `epoch` (counted from 1) adds to the average.
  bool averages(std::uint64_t epoch) const { return epoch + options_.average > options_.epochs; }
  void add_to_average();
  /// Puts the average in the place of the model's parameters.
  void use_average();

  /// Moves the model's vectors into `current_`, and back.
  void take_over();
  void give_back();
  /// Writes a checkpoint, if every parameter is finite.
  void save();
  void save_parameters(const std::string& path);
  /// The ways out of `run`: training is over, or a signal has come; both leave.
  TrainResult complete(const std::string& ended);
  TrainResult interrupt(int signal);
  TrainResult leave(const std::string& ended, int signal);

  /// Of the run so far; virtual in a simulation.
  double seconds() const { return seconds_before_ + step_clock(); }
  double step_clock() const { return engine().is_virtual() ? selector_->now() : clock_.elapsed(); }
  Engine& engine() { return selector_->engine(); }
  const Engine& engine() const { return selector_->engine(); }
  void write_trace();
  ProgressState display_state() const;
  /// For `evener status`, now and then.
  void publish_status();

  const TrainOptions& options_;
  const RunContext& context_;
  Reporter& reporter_;
  const RunDirectory& directory_;
  TrainingData data_;
  Checkpoint current_;  // its vectors are with the engine, but for the sum of the average
  std::size_t optimizer_vectors_;
  KeepChoice keep_choice_;
  std::unique_ptr<DeviceSelector> selector_;
  Position position_;
  std::uint64_t rows_trained_ = 0;  // of the current epoch, less than next_row while some are out
  bool checkpoint_due_ = false;

  std::string hint_;  // of the batch size
  std::vector<std::string> notes_;
  std::string best_by_;
  Metrics metrics_;  // of the last evaluation
  std::uint64_t metrics_epoch_ = 0;
  std::optional<std::uint64_t> metrics_step_;  // of a model that is no longer: nothing
  std::string metrics_line_;                   // the same for the display
  double train_loss_ = 0;

  Stopwatch clock_;
  double seconds_before_;                          // of earlier sessions
  double epoch_begin_seconds_ = 0;                 // step_seconds_ when the epoch began
  double eval_seconds_ = 0;                        // of the last evaluation
  double step_seconds_ = 0;                        // spent in steps by this session
  double trial_seconds_ = 0;                       // of these, in trials of devices
  double last_step_end_ = 0;                       // of step_clock()
  double last_checkpoint_ = 0;                     // of clock_
  std::uint64_t rows_done_ = 0;                    // by this session
  std::uint64_t rows_recorded_ = 0, record_rows_;  // one "step" record each so many rows
  double recorded_loss_ = 0;
  double last_status_ = -1;  // of clock_
};

}  // namespace evener
