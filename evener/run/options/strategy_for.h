// --strategy with `auto` replaced, for each kind of run.
#pragma once

#include <cstddef>
#include <string>

#include "evener/run/options/options.h"

namespace evener {

/// For the devices of one machine. `auto` is sequential on one device. On several it is the
/// strategy of the devices that the trials keep (run/devices/device_trials.h).
std::string strategy_for_devices(const TrainOptions& options, std::size_t devices);

/// For a coordinator and its workers; `auto` is dasp. UsageError for strategies for one machine.
std::string strategy_for_nodes(const TrainOptions& options);

/// For gossip peers. UsageError for strategies of devices and of a coordinator.
std::string strategy_for_peers(const TrainOptions& options);

}  // namespace evener
