// SIGINT, SIGTERM and SIGHUP: the first signal ends the run with a checkpoint, the second ends the
// process at once.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "evener/core/seconds.h"
#include "evener/runtime/hang_detector.h"
#include "evener/runtime/step_counter.h"

namespace evener {

/// `answer` is the line that is printed at the first signal; it says what happens next.
void catch_signals(const char* answer);

/// Until the next call of `catch_signals`, a signal prints `answer` and ends the program.
void end_on_signals(const char* answer);

/// The signal that arrived after `catch_signals`, or 0.
int caught_signal();

/// While it exists, a signal ends the process after `grace` even if its working thread hangs. For
/// processes that have nothing to save. `signal`: what counts as one; polled on another thread.
class SignalDeadline {
 public:
  explicit SignalDeadline(Seconds grace = 0.8, std::function<int()> signal = caught_signal);
  SignalDeadline(const SignalDeadline&) = delete;
  SignalDeadline& operator=(const SignalDeadline&) = delete;
  ~SignalDeadline();

 private:
  void watch(Seconds grace);

  std::function<int()> signal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  // last: it uses the others
};

/// While it exists, a step that hangs on the thread that drives a run ends the process: after a
/// signal, or after --stall-timeout. Checkpoints that are on the disk stay valid. `left` ends the
/// message: what is left of the run.
class StepDeadline {
 public:
  StepDeadline(std::shared_ptr<const MainSteps> steps, const HangLimits& limits,
               std::string left = "ended without a new checkpoint, earlier checkpoints are valid");
  StepDeadline(const StepDeadline&) = delete;
  StepDeadline& operator=(const StepDeadline&) = delete;
  ~StepDeadline();

 private:
  void watch(const HangLimits& limits);

  std::shared_ptr<const MainSteps> steps_;
  std::string left_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace evener
