// SIGINT and SIGTERM: the first asks the run to end with a checkpoint, the second ends at once.
#pragma once

namespace evener {

void catch_signals();

/// The signal that has arrived since, or 0.
int caught_signal();

}  // namespace evener
