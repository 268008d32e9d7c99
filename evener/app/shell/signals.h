// SIGINT, SIGTERM and SIGHUP: the first signal ends the run with a checkpoint, the second ends the
// process at once.
#pragma once

namespace evener {

/// `answer` is the line that is printed at the first signal; it says what happens next.
void catch_signals(const char* answer);

/// Until the next call of `catch_signals`, a signal prints `answer` and ends the program.
void end_on_signals(const char* answer);

/// The signal that arrived after `catch_signals`, or 0.
int caught_signal();

}  // namespace evener
