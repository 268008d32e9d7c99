// Whether this machine has a device of a kind, for tests that need one.
#pragma once

#include <string>
#include <vector>

#include "evener/device/registry.h"

namespace evener {

/// The devices of the kind with this name ("opencl"), as the registry lists them.
inline std::vector<ListedDevice> listed_devices(const std::string& kind) {
  const DeviceKind* found = find_device_kind(kind);
  return found == nullptr ? std::vector<ListedDevice>{} : found->list().devices;
}

inline bool has_device(const std::string& kind) {
  return !listed_devices(kind).empty();
}

}  // namespace evener
