// What train and simulate have in common: the training itself, and what they print when it is done.
#pragma once

#include <string>

#include "evener/app/commands/commands.h"
#include "evener/run/session/train.h"

namespace evener {

/// What surrounds a run of the command: the terminal, the cache, signals.
RunContext surrounded(RunContext context, const TrainOptions& options, const Shell& shell);

/// Prints the result and leaves the exit code. `resume_with` as below.
void print_result(const TrainResult& result, const TrainOptions& options,
                  const std::string& resume_with, Shell& shell);

/// Trains in the shell's context, prints the result and leaves the exit code. `context` has
/// the devices, where they are simulated; `resume_with` is the command that goes on with a run,
/// but for its directory; empty: a peer's run, which nobody goes on with.
void train_and_print(const TrainOptions& options, RunContext context,
                     const std::string& resume_with, Shell& shell);

}  // namespace evener
