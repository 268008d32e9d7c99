// Lists OpenCL devices.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "evener/device/opencl/cl.h"
#include "evener/device/opencl/names.h"

namespace evener::opencl {

struct Found {
  DeviceId id;
  std::string description;  // human-readable
  bool processor = false;   // the same cores as the device `cpu`
  unsigned compute_units = 0;
  std::size_t memory = 0;
  std::string why_not;  // empty: it can be used
};

/// Every device of every platform; empty if there is no OpenCL runtime.
std::vector<Found> list();

/// UsageError if there is no such device; the message lists the devices.
cl::Device find(const DeviceId& id);

}  // namespace evener::opencl
