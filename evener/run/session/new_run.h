// The start of a new run: network, initial parameters, engine setup, run directory.
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

/// Strategy, batch sizes and devices; then data and network.
EngineSetup engine_setup(const TrainOptions& options, RunDevices devices);
void set_training(EngineSetup& setup, const TrainOptions& options, const TrainingData& data,
                  const Network& network);

/// A hint for runs that are slow because devices step on one row at a time; empty: none. `setup`
/// has its devices (see `checked`).
std::string batch_hint(const EngineSetup& setup, const Network& network);

/// The initial model.
Checkpoint new_run(const TrainOptions& options, const TrainingData& data, Reporter& reporter);

/// Makes paths absolute, so that the run can be resumed from another folder.
TrainOptions with_absolute_paths(TrainOptions options);

/// The run directory without -o: named after the data file, or after its folder if the file is
/// called "train".
std::string default_directory(const std::string& data);

/// UsageError if the directory holds a run.
void refuse_existing_run(const std::string& path);

}  // namespace evener
