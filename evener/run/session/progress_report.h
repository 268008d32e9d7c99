// The reports of a session while it trains and at its end: lines for the user, records, the trace,
// the progress display, and their speeds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evener/core/time.h"
#include "evener/run/artifacts/run_directory.h"
#include "evener/run/report/reporter.h"
#include "evener/run/session/backend.h"
#include "evener/run/session/train.h"

namespace evener {

class ProgressReport {
 public:
  /// All arguments must outlive this object. `seconds_before`: of earlier sessions of the run.
  ProgressReport(const TrainOptions& options, const TrainingData& data, Backend& backend,
                 Reporter& reporter, double seconds_before);

  void say_start(const Network& network);

  // Called before steps, and after each. The time between two steps counts, because the workers
  // go on while a step is reported.
  void begin_part();
  void step(const StepReport& report);

  /// Prints and records the backend's news.
  void report(const BackendNews& news);
  void say_and_keep(const std::string& text);
  void warn_and_keep(const std::string& text);
  void say(const std::string& text) { reporter_.say(text); }

  /// Called before the epoch is closed. `whole`: not cut short by the end of the time. `metrics`
  /// null: it was not evaluated.
  void end_epoch(bool whole, const Metrics* metrics, double eval_seconds);
  /// Shows these metrics on the progress display from now on.
  void show_metrics(const Metrics& metrics);

  /// Completes the result, and writes the "end" record and the trace. `directory` may be null.
  void end(TrainResult& result, const RunDirectory* directory);
  void record_failure(const std::string& why);

  /// Seconds of the run so far; virtual in a simulation.
  double seconds() const { return seconds_before_ + step_clock(); }
  /// Seconds of this session.
  Seconds elapsed() const { return clock_.elapsed(); }
  double train_loss() const { return train_loss_; }  // of the last complete epoch
  ProgressState display_state() const;
  /// Seconds spent in steps in this session, without trials of devices.
  double step_seconds() const { return step_seconds_ - trial_seconds_; }

 private:
  double step_clock() const {
    return backend_.kind() == RunKind::virtual_time ? backend_.now() : clock_.elapsed();
  }
  double epoch_share(const Position& position) const;  // of the current epoch, 0 .. 1
  double samples_per_second() const;
  void keep_note(const std::string& text);
  void record_workers(const BackendReport& report);

  const TrainOptions& options_;
  const TrainingData& data_;
  Backend& backend_;
  Reporter& reporter_;
  std::vector<std::string> notes_;
  std::string metrics_line_;
  double train_loss_ = 0;

  Stopwatch clock_;
  double seconds_before_;
  double epoch_begin_seconds_ = 0;                 // step_seconds_ when the epoch began
  double step_seconds_ = 0;                        // spent in steps by this session
  double trial_seconds_ = 0;                       // part of step_seconds_ spent in trials
  double last_step_end_ = 0;                       // by step_clock()
  std::uint64_t rows_done_ = 0;                    // by this session
  std::uint64_t rows_recorded_ = 0, record_rows_;  // rows per "step" record
  double recorded_loss_ = 0;
};

}  // namespace evener
