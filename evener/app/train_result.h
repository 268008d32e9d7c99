// What train and simulate have in common: the training itself, and what they print when it is done.
#pragma once

#include <string>

#include "evener/app/commands.h"
#include "evener/run/train.h"

namespace evener {

/// Trains in the shell's surroundings, prints the result and leaves the exit code. `context` has
/// the devices, where they are simulated; `resume_with` is the command that goes on with a run,
/// but for its directory.
void train_and_print(const TrainOptions& options, RunContext context,
                     const std::string& resume_with, Shell& shell);

}  // namespace evener
