// SIGINT and SIGTERM: the first asks the run to end with a checkpoint, the second ends at once.
#pragma once

namespace evener {

/// `answer` is a line that tells the user what the first signal leads to; it outlives the program's
/// work.
void catch_signals(const char* answer);

/// Until the next call of `catch_signals` a signal ends the program, which says `answer` first.
void end_on_signals(const char* answer);

/// The signal that has arrived since, or 0.
int caught_signal();

}  // namespace evener
