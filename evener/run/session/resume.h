// How a run goes on: what its checkpoint must agree with, and what it says about the run.
#pragma once

#include <optional>
#include <string>

#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/artifacts/run_directory.h"
#include "evener/run/report/reporter.h"
#include "evener/run/session/data.h"
#include "evener/run/session/train.h"

namespace evener {

// Kept beside the options in a checkpoint: a run can only go on with the data it began with.
inline constexpr const char* kRowsKey = "data rows";
// The same for time: virtual and real seconds do not mix.
inline constexpr const char* kVirtualKey = "virtual time";

// A run of a cluster does not go on on one machine by mistake.
inline constexpr const char* kClusterKey = "cluster";
inline constexpr const char* kNodesRun = "yes";
inline constexpr const char* kPeersRun = "peers";

// Of a simulation: those of the cluster file's devices that auto has left, by number.
inline constexpr const char* kUsedKey = "virtual devices";

/// The checkpoint of --resume, and the options with the recipe that it was trained by. UsageError
/// where there is none, or the options are of another model.
Checkpoint resumed_start(TrainOptions& options, Reporter& reporter);

// UsageError where the run was on other data, in another kind of time, or of a cluster.
void check_same_data(const TrainOptions& options, const TrainingData& data,
                     const Checkpoint& start);
void check_same_time(const TrainOptions& options, const Checkpoint& start, bool is_virtual);
void check_same_place(const TrainOptions& options, const Checkpoint& start, bool has_nodes);

/// The result of a run that has come to its end and has nothing left to do. A checkpoint of the
/// last epoch alone does not say so: what follows it may have been cut off.
std::optional<TrainResult> finished_run(const TrainOptions& options, const Checkpoint& start,
                                        const RunDirectory& directory);

/// Of a simulation that goes on as it began, the devices that it was left with; by number, as text.
std::string keep_used(VirtualTimeOptions& time, const TrainOptions& options,
                      const Checkpoint& start);

}  // namespace evener
