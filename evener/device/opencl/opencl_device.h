// OpenCL devices: graphics cards, and processors through PoCL.
#pragma once

#include <memory>

#include "evener/device/device.h"
#include "evener/device/opencl/context.h"

namespace evener::opencl {

std::unique_ptr<Device> make_opencl_device(const DeviceId& id, const DeviceOptions& options);

}  // namespace evener::opencl
