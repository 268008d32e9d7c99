// One OpenCL device, opened: context, command queue and the errors that calls end in.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "evener/device/accelerator/footprint.h"
#include "evener/device/device.h"
#include "evener/device/opencl/cl.h"
#include "evener/device/opencl/names.h"

namespace evener::opencl {

/// A processor wants panels that suit its caches and few items; others want many items that read
/// neighbouring addresses.
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
  std::shared_ptr<Products> products;  // null: all by our own kernels
};

/// Opens it; UsageError if there is no such device, with what there is.
std::shared_ptr<Context> open(const DeviceId& id, const DeviceOptions& options);

MemoryLimits limits_of(const Context& context);

/// Device and driver: what compiled and measured things depend on.
std::string identity_of(const Context& context);

/// DeviceError: what was being done, and OpenCL's error code in words.
[[noreturn]] void fail(const std::string& device, const std::string& what, const cl::Error& error);

}  // namespace evener::opencl
