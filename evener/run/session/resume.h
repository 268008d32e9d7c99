// Resuming a run: checks of its checkpoint against data and options, and whether it is finished.
#pragma once

#include <optional>
#include <string>

#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/report/reporter.h"
#include "evener/run/session/data.h"
#include "evener/run/session/train.h"

namespace evener {

// Saved with the options in a checkpoint: a run is resumed only with the same data.
inline constexpr const char* kRowsKey = "data rows";

/// Loads the checkpoint of --resume, and applies the recipe of the run to the options. UsageError
/// if there is none, or if the options describe another model.
Checkpoint resumed_start(TrainOptions& options, Reporter& reporter);

/// UsageError if the run was trained on other data.
void check_same_data(const TrainOptions& options, const TrainingData& data,
                     const Checkpoint& start);

/// The result of a finished run. A checkpoint of the last epoch is not enough: the run may have
/// been killed before it wrote its models.
std::optional<TrainResult> finished_run(const TrainOptions& options, const Checkpoint& start);

}  // namespace evener
