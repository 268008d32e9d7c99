// CLUSTER.toml: the devices of a simulation. docs/examples/cluster.toml has every key.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "evener/runtime/virtual_time.h"

namespace evener {

/// UsageError with `file:line:` for an unknown key or a value that cannot be.
VirtualTimeOptions read_cluster(const std::string& path);

/// One [[device]] of such a file.
std::string cluster_device_text(const DeviceModel& model);
/// The same keys and units for other programs.
nlohmann::ordered_json cluster_device_json(const DeviceModel& model);

}  // namespace evener
