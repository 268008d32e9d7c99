#include "evener/device/opencl/list.h"

#include <fmt/format.h>

#include "evener/core/error.h"

namespace evener::opencl {

namespace {

/// The loader reports "no platform" as an error; here it is an empty list.
std::vector<cl::Platform> platforms() {
  std::vector<cl::Platform> found;
  try {
    cl::Platform::get(&found);
  } catch (const cl::Error&) {
    found.clear();
  }
  return found;
}

std::vector<cl::Device> devices_of(const cl::Platform& platform) {
  std::vector<cl::Device> found;
  try {
    platform.getDevices(CL_DEVICE_TYPE_ALL, &found);
  } catch (const cl::Error&) {
    found.clear();
  }
  return found;
}

/// Checks properties that OpenCL 1.2 does not guarantee: a compiler, and little-endian floats.
std::string why_not(const cl::Device& device) {
  if (!device.getInfo<CL_DEVICE_AVAILABLE>()) return "it is not available";
  if (!device.getInfo<CL_DEVICE_COMPILER_AVAILABLE>()) return "it has no compiler for kernels";
  if (!device.getInfo<CL_DEVICE_ENDIAN_LITTLE>()) return "it is big-endian";
  return "";
}

}  // namespace

std::vector<Found> list() {
  std::vector<Found> all;
  const auto found = platforms();
  for (std::size_t p = 0; p < found.size(); ++p) {
    const auto devices = devices_of(found[p]);
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const cl::Device& device = devices[d];
      Found candidate;
      candidate.id = {static_cast<int>(p), static_cast<int>(d), -1};
      try {
        candidate.description = fmt::format("{} ({})", device.getInfo<CL_DEVICE_NAME>(),
                                            found[p].getInfo<CL_PLATFORM_NAME>());
        candidate.processor = (device.getInfo<CL_DEVICE_TYPE>() & CL_DEVICE_TYPE_CPU) != 0;
        candidate.compute_units = device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
        candidate.memory = device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>();
        candidate.why_not = why_not(device);
      } catch (const cl::Error& error) {
        candidate.why_not = fmt::format("{} failed ({})", error.what(), error.err());
      }
      all.push_back(std::move(candidate));
    }
  }
  return all;
}

cl::Device find(const DeviceId& id) {
  const auto all = list();
  std::string valid;
  for (const Found& candidate : all) {
    if (candidate.id.platform == id.platform && candidate.id.device == id.device) {
      if (!candidate.why_not.empty()) {
        throw UsageError(fmt::format("device '{}': {}", to_string(id), candidate.why_not));
      }
      return devices_of(
          platforms()[static_cast<std::size_t>(id.platform)])[static_cast<std::size_t>(id.device)];
    }
    valid += fmt::format("{}{}", valid.empty() ? "" : ", ", to_string(candidate.id));
  }
  if (all.empty()) {
    throw UsageError(fmt::format(
        "device '{}': no OpenCL runtime is installed here, or it has no device (on Debian, "
        "pocl-opencl-icd runs OpenCL on the processor; cards need their vendor's)",
        to_string(id)));
  }
  throw UsageError(
      fmt::format("device '{}': there is no such device; there is {}", to_string(id), valid));
}

}  // namespace evener::opencl
