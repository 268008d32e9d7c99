// SIGINT, SIGTERM and SIGHUP: the first signal ends the run with a checkpoint, the second ends the
// process at once.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "evener/core/seconds.h"

namespace evener {

/// `answer` is the line that is printed at the first signal; it says what happens next.
void catch_signals(const char* answer);

/// Until the next call of `catch_signals`, a signal prints `answer` and ends the program.
void end_on_signals(const char* answer);

/// The signal that arrived after `catch_signals`, or 0.
int caught_signal();

/// While it exists, a signal ends the process after `grace` even if its working thread hangs. For
/// processes that have nothing to save.
class SignalDeadline {
 public:
  explicit SignalDeadline(Seconds grace = 0.8);
  SignalDeadline(const SignalDeadline&) = delete;
  SignalDeadline& operator=(const SignalDeadline&) = delete;
  ~SignalDeadline();

 private:
  void watch(Seconds grace);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace evener
