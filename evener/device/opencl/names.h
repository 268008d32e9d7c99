// The names of OpenCL devices, in builds with and without OpenCL.
#pragma once

#include <string>

#include "evener/device/registry.h"

namespace evener::opencl {

/// `opencl:P.D`, or `opencl:P.D.S` for one of its compute units alone.
struct DeviceId {
  int platform = 0;
  int device = 0;
  int part = -1;  // -1: the whole device
};

std::string to_string(const DeviceId& id);
/// UsageError if the name is not well formed.
DeviceId parse_device_id(const std::string& name);

/// The registry's row without its functions that need OpenCL.
DeviceKind named_kind();

}  // namespace evener::opencl
