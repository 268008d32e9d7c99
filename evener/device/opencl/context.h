// An open OpenCL device: context, command queue and error handling.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "evener/device/accelerator/footprint.h"
#include "evener/device/device.h"
#include "evener/device/opencl/cl.h"
#include "evener/device/opencl/names.h"

namespace evener::opencl {

/// Processors use panels that fit their caches, and few items; other devices use many items that
/// read neighbouring addresses.
enum class Kind { processor, accelerator };

class Products;

struct Context {
  cl::Context context;  // the parts of a device share one
  cl::Device device;
  cl::CommandQueue queue;
  Kind kind = Kind::accelerator;
  unsigned compute_units = 1;
  std::size_t memory = 0;  // bytes that may be used
  std::size_t most_at_once = 0;
  std::string name;                    // as in --devices
  std::shared_ptr<Products> products;  // null: always our kernels
};

/// Opens a device; UsageError if there is no such device, with a list of the devices.
std::shared_ptr<Context> open(const DeviceId& id, const DeviceOptions& options);

MemoryLimits limits_of(const Context& context);

/// Device and driver, on which binaries and measurements depend.
std::string identity_of(const Context& context);

/// Throws DeviceError with the operation and the name of OpenCL's error code.
[[noreturn]] void fail(const std::string& device, const std::string& what, const cl::Error& error);

}  // namespace evener::opencl
