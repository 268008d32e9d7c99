// How a new run begins: its model, its directory, and the options as they are written down.
#pragma once

#include <string>

#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/options/options.h"
#include "evener/run/report/reporter.h"
#include "evener/run/session/data.h"

namespace evener {

/// The model before its first step.
Checkpoint fresh_start(const TrainOptions& options, const TrainingData& data, Reporter& reporter);

/// Relative paths would lead elsewhere when the run is resumed from another folder.
TrainOptions with_absolute_paths(TrainOptions options);

/// Where a run without -o goes: named after the data, its file, or its folder where the file is
/// just called "train".
std::string default_directory(const std::string& data);

/// UsageError where there is one.
void refuse_existing_run(const std::string& path);

}  // namespace evener
