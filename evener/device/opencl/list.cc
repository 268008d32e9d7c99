#include "evener/device/opencl/list.h"

#include <charconv>

#include <fmt/format.h>

#include "evener/core/error.h"

namespace evener::opencl {

namespace {

/// The loader answers "no platform" with an error: for us that is an empty list.
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

/// Both kinds of kernels need what OpenCL 1.2 does not promise: a compiler and 32-bit addresses of
/// little-endian floats.
std::string why_not(const cl::Device& device) {
  if (!device.getInfo<CL_DEVICE_AVAILABLE>()) return "it is not available";
  if (!device.getInfo<CL_DEVICE_COMPILER_AVAILABLE>()) return "it has no compiler for kernels";
  if (!device.getInfo<CL_DEVICE_ENDIAN_LITTLE>()) return "it is big-endian";
  return "";
}

}  // namespace

std::vector<Listed> list() {
  std::vector<Listed> all;
  const auto found = platforms();
  for (std::size_t p = 0; p < found.size(); ++p) {
    const auto devices = devices_of(found[p]);
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const cl::Device& device = devices[d];
      Listed listed;
      listed.place = {static_cast<int>(p), static_cast<int>(d), -1};
      try {
        listed.description = fmt::format("{} ({})", device.getInfo<CL_DEVICE_NAME>(),
                                         found[p].getInfo<CL_PLATFORM_NAME>());
        listed.processor = (device.getInfo<CL_DEVICE_TYPE>() & CL_DEVICE_TYPE_CPU) != 0;
        listed.compute_units = device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
        listed.memory = device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>();
        listed.why_not = why_not(device);
      } catch (const cl::Error& error) {
        listed.why_not = fmt::format("{} failed ({})", error.what(), error.err());
      }
      listed.usable = listed.why_not.empty();
      all.push_back(std::move(listed));
    }
  }
  return all;
}

cl::Device find(const Place& place) {
  const auto all = list();
  std::string valid;
  for (const Listed& listed : all) {
    if (listed.place.platform == place.platform && listed.place.device == place.device) {
      if (!listed.usable) {
        throw UsageError(fmt::format("device '{}': {}", to_string(place), listed.why_not));
      }
      return devices_of(platforms()[static_cast<std::size_t>(
          place.platform)])[static_cast<std::size_t>(place.device)];
    }
    valid += fmt::format("{}{}", valid.empty() ? "" : ", ", to_string(listed.place));
  }
  if (all.empty()) {
    throw UsageError(fmt::format(
        "device '{}': no OpenCL runtime is installed here, or it has no device (on Debian, "
        "pocl-opencl-icd runs OpenCL on the processor; cards need their vendor's)",
        to_string(place)));
  }
  throw UsageError(
      fmt::format("device '{}': there is no such device; there is {}", to_string(place), valid));
}

std::string to_string(const Place& place) {
  return place.part < 0 ? fmt::format("opencl:{}.{}", place.platform, place.device)
                        : fmt::format("opencl:{}.{}.{}", place.platform, place.device, place.part);
}

Place parse_place(const std::string& name) {
  constexpr std::string_view kPrefix = "opencl:";
  Place place{-1, -1, -1};
  const char* at = name.data() + std::min(name.size(), kPrefix.size());
  const char* end = name.data() + name.size();
  for (int* part : {&place.platform, &place.device, &place.part}) {
    const auto [stop, error] = std::from_chars(at, end, *part);
    if (error != std::errc{} || *part < 0) break;
    at = stop;
    if (at == end) break;
    if (*at != '.') break;
    ++at;
  }
  if (!name.starts_with(kPrefix) || at != end || name.ends_with('.') || place.device < 0) {
    throw UsageError("device '" + name +
                     "': OpenCL devices are opencl:P.D (platform and device) and opencl:P.D.S (one "
                     "compute unit of it), as in opencl:0.0");
  }
  return place;
}

}  // namespace evener::opencl
