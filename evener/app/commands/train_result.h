// Shared by the commands that train: running the session and printing its result.
#pragma once

#include <string>
#include <vector>

#include "evener/app/commands/commands.h"
#include "evener/run/session/train.h"

namespace evener {

/// The context of a run started by the command: terminal, cache, signals.
RunContext run_context(const TrainOptions& options, const Shell& shell);

/// Trains. If a step hangs on this thread, the process ends: after a signal, or --stall-timeout.
/// `data`: as in train_and_print.
TrainResult train_watched(const TrainOptions& options, Backend& backend, RunContext context,
                          const TrainingData* data = nullptr);

/// Prints the result and sets the exit code. `resume_with`: as in train_and_print.
void print_result(const TrainResult& result, const TrainOptions& options,
                  const std::string& resume_with, Shell& shell);

/// Trains, prints the result and sets the exit code. `resume_with` is the command that resumes the
/// run, without the run directory. `notes` are for the user, at the start. `data`: the training
/// data if it is open already, else null.
void train_and_print(const TrainOptions& options, Backend& backend, const std::string& resume_with,
                     Shell& shell, const std::vector<std::string>& notes = {},
                     const TrainingData* data = nullptr);

}  // namespace evener
