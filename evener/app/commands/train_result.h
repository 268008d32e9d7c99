// What train and simulate have in common: the training itself, and what they print when it is done.
#pragma once

#include <string>

#include "evener/app/commands/commands.h"
#include "evener/run/session/train.h"

namespace evener {

/// The environment of a run of the command: the terminal, the cache, signals.
RunContext run_context(const TrainOptions& options, const Shell& shell);

/// Prints the result and leaves the exit code. `resume_with` as below.
void print_result(const TrainResult& result, const TrainOptions& options,
                  const std::string& resume_with, Shell& shell);

/// Trains, prints the result and leaves the exit code. `resume_with` is the command that resumes
/// the run, but for its directory.
void train_and_print(const TrainOptions& options, Backend& backend, const std::string& resume_with,
                     Shell& shell);

}  // namespace evener
