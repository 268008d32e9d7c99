#include "evener/device/opencl/context.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/device/opencl/list.h"

namespace evener::opencl {

namespace {

// On a processor, a chunk of logits must fit into the cache; on a card, it must occupy the whole
// card.
constexpr std::size_t kProcessorChunk = std::size_t{512} << 10;
constexpr std::size_t kAcceleratorChunk = std::size_t{16} << 20;

const char* name_of(cl_int code) {
  switch (code) {
    case CL_DEVICE_NOT_AVAILABLE:
      return "device not available";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
      return "no device memory";
    case CL_OUT_OF_RESOURCES:
      return "out of resources, or the device was lost";
    case CL_OUT_OF_HOST_MEMORY:
      return "no host memory";
    case CL_BUILD_PROGRAM_FAILURE:
      return "the kernels do not build";
    case CL_INVALID_BUFFER_SIZE:
      return "larger than the device allows";
    case CL_INVALID_COMMAND_QUEUE:
      return "the command queue was lost";
    default:
      return "OpenCL error";
  }
}

/// Sub-devices of one compute unit each.
std::vector<cl::Device> parts_of(cl::Device device, const std::string& name) {
  const cl_device_partition_property properties[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  std::vector<cl::Device> parts;
  try {
    device.createSubDevices(properties, &parts);
  } catch (const cl::Error&) {
    throw UsageError(fmt::format("device '{}': this device cannot be split into parts", name));
  }
  return parts;
}

/// A context and the devices in it: a device as a whole, or all of its parts.
struct Shared {
  cl::Context context;
  std::vector<cl::Device> devices;
};

/// Opened once and never closed: PoCL 3.1 crashes now and then when sub-devices are released while
/// another context is alive, and parts in one context can read each other's memory.
Shared& shared(const DeviceId& id) {
  static std::mutex mutex;
  static auto& open = *new std::map<std::tuple<int, int, bool>, Shared>();
  const std::lock_guard lock(mutex);
  const bool parts = id.part >= 0;
  auto [at, fresh] = open.try_emplace({id.platform, id.device, parts});
  if (!fresh) return at->second;
  try {
    const cl::Device whole = find(id);
    at->second.devices = parts ? parts_of(whole, to_string(id)) : std::vector{whole};
    at->second.context = cl::Context(at->second.devices);
  } catch (...) {
    open.erase(at);
    throw;
  }
  return at->second;
}

}  // namespace

MemoryLimits limits_of(const Context& context) {
  return {context.name, context.memory, context.most_at_once,
          context.kind == Kind::processor ? kProcessorChunk : kAcceleratorChunk, 0};
}

std::string identity_of(const Context& context) {
  const cl::Device& device = context.device;
  return fmt::format("{}\n{}\n{}", device.getInfo<CL_DEVICE_NAME>(),
                     device.getInfo<CL_DEVICE_VERSION>(), device.getInfo<CL_DRIVER_VERSION>());
}

void fail(const std::string& device, const std::string& what, const cl::Error& error) {
  throw DeviceError(fmt::format("{}: {}: {} ({} from {})", device, what, name_of(error.err()),
                                error.err(), error.what()));
}

std::shared_ptr<Context> open(const DeviceId& id, const DeviceOptions& options) {
  const std::string name = to_string(id);
  auto context = std::make_shared<Context>();
  context->name = name;
  try {
    const Shared& opened = shared(id);
    const auto index = static_cast<std::size_t>(std::max(id.part, 0));
    if (index >= opened.devices.size()) {
      throw UsageError(fmt::format("device '{}': it has {} parts, numbered from 0", name,
                                   opened.devices.size()));
    }
    const cl::Device& device = opened.devices[index];
    context->device = device;
    context->context = opened.context;
    context->queue = cl::CommandQueue(context->context, device);
    const bool processor = (device.getInfo<CL_DEVICE_TYPE>() & CL_DEVICE_TYPE_CPU) != 0;
    context->kind = processor && !options.as_card ? Kind::processor : Kind::accelerator;
    context->compute_units = device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
    context->memory = device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>();
    if (options.memory_limit > 0) context->memory = std::min(context->memory, options.memory_limit);
    context->most_at_once = device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>();
  } catch (const cl::Error& error) {
    fail(name, "cannot be opened", error);
  }
  return context;
}

}  // namespace evener::opencl
