// Where a run starts: the network that options and data make, and its first parameters.
#pragma once

#include <string>

#include "evener/core/buffer.h"
#include "evener/nn/network.h"
#include "evener/run/devices/devices.h"
#include "evener/run/options/options.h"
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

/// A line for those whose devices step on one row at a time on a model where that is slow, with
/// what to set; empty: there is nothing to say. `setup` has its devices (see
/// `checked`).
std::string batch_hint(const EngineSetup& setup, const Network& network);

}  // namespace evener
