// How a run is resumed: what its checkpoint must agree with, and whether it is finished.
#pragma once

#include <optional>
#include <string>

#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/report/reporter.h"
#include "evener/run/session/data.h"
#include "evener/run/session/train.h"

namespace evener {

// Kept beside the options in a checkpoint: a run is resumed only with the data it began with.
inline constexpr const char* kRowsKey = "data rows";

/// The checkpoint of --resume, and the options with the recipe that it was trained by. UsageError
/// where there is none, or the options are of another model.
Checkpoint resumed_start(TrainOptions& options, Reporter& reporter);

/// UsageError where the run was on other data.
void check_same_data(const TrainOptions& options, const TrainingData& data,
                     const Checkpoint& start);

/// The result of a run that has ended and has nothing left to do. A checkpoint of the last epoch
/// alone does not say so: what follows it may have been cut off.
std::optional<TrainResult> finished_run(const TrainOptions& options, const Checkpoint& start);

}  // namespace evener
