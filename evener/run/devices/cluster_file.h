// CLUSTER.toml: the devices of a simulation. docs/examples/cluster.toml has every key.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "evener/runtime/virtual_time.h"

namespace evener {

/// UsageError with `file:line:` for an unknown key or an invalid value.
VirtualTimeOptions read_cluster(const std::string& path);

/// Formats one [[device]] of such a file.
std::string cluster_device_text(const DeviceModel& model);
/// The same as JSON, with the same keys and units.
nlohmann::ordered_json cluster_device_json(const DeviceModel& model);

}  // namespace evener
