#include "evener/device/opencl/names.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "evener/core/error.h"

namespace evener::opencl {

std::string to_string(const DeviceId& id) {
  return id.part < 0 ? fmt::format("opencl:{}.{}", id.platform, id.device)
                     : fmt::format("opencl:{}.{}.{}", id.platform, id.device, id.part);
}

DeviceId parse_device_id(const std::string& name) {
  constexpr std::string_view kPrefix = "opencl:";
  DeviceId id{-1, -1, -1};
  const char* at = name.data() + std::min(name.size(), kPrefix.size());
  const char* end = name.data() + name.size();
  for (int* number : {&id.platform, &id.device, &id.part}) {
    const auto [stop, error] = std::from_chars(at, end, *number);
    if (error != std::errc{} || *number < 0) break;
    at = stop;
    if (at == end) break;
    if (*at != '.') break;
    ++at;
  }
  if (!name.starts_with(kPrefix) || at != end || name.ends_with('.') || id.device < 0) {
    throw UsageError("device '" + name +
                     "': OpenCL devices are opencl:P.D (platform and device) and opencl:P.D.S (one "
                     "compute unit of it), as in opencl:0.0");
  }
  return id;
}

DeviceKind named_kind() {
  DeviceKind kind;
  kind.name = "opencl";
  kind.title = "OpenCL";
  kind.names = "opencl:P.D (platform, device), opencl:P.D.S (one compute unit of it)";
  kind.help = "opencl:P.D.S is compute unit S of a device that can be split, as processors can";
  kind.owns = [](const std::string& name) { return name.starts_with("opencl"); };
  kind.cores = [](const std::string&) { return 0U; };
  kind.auto_order = 2;  // CUDA comes first for NVIDIA's cards
  return kind;
}

}  // namespace evener::opencl
