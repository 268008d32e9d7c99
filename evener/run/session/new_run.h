// How a new run begins: its network and first parameters, the engine's setup, its directory.
#pragma once

#include <string>

#include "evener/core/buffer.h"
#include "evener/nn/network.h"
#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/devices/devices.h"
#include "evener/run/options/options.h"
#include "evener/run/report/reporter.h"
#include "evener/run/session/data.h"
#include "evener/runtime/engine.h"

namespace evener {

Network network_of(const TrainOptions& options, const Dataset& data);
FloatBuffer initial_parameters(const Network& network, const TrainOptions& options,
                               const TrainingData& data);

/// Strategy, batch sizes and devices; then what is trained.
EngineSetup engine_setup(const TrainOptions& options, RunDevices devices);
void set_training(EngineSetup& setup, const TrainOptions& options, const TrainingData& data,
                  const Network& network);

/// A line for a user whose devices step on one row at a time on a model where that is slow, with
/// what to set; empty: none. `setup` has its devices (see `checked`).
std::string batch_hint(const EngineSetup& setup, const Network& network);

/// The model before its first step.
Checkpoint new_run(const TrainOptions& options, const TrainingData& data, Reporter& reporter);

/// Relative paths would be wrong when the run is resumed from another folder.
TrainOptions with_absolute_paths(TrainOptions options);

/// Of a run without -o: named after the data file, or after its folder where the file is just
/// called "train".
std::string default_directory(const std::string& data);

/// UsageError where there is one.
void refuse_existing_run(const std::string& path);

}  // namespace evener
