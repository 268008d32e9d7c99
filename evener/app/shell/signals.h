// SIGINT and SIGTERM: the first asks the run to end with a checkpoint, the second ends at once.
#pragma once

namespace evener {

/// `answer` is the line that is printed at the first signal; it says what happens next.
void catch_signals(const char* answer);

/// Until the next call of `catch_signals` a signal ends the program, after `answer` is printed.
void end_on_signals(const char* answer);

/// The signal that has arrived since, or 0.
int caught_signal();

}  // namespace evener
