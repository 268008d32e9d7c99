#include "evener/device/registry.h"

#include <array>

#include "evener/device/cpu/cpu_kind.h"
#include "evener/device/cuda/cuda_kind.h"
#include "evener/device/opencl/opencl_kind.h"

namespace evener {

std::span<const DeviceKind> device_kinds() {
  static const std::array kinds{
      cpu_kind(),
      opencl_kind(),
      cuda_kind(),
  };
  return kinds;
}

const DeviceKind* find_device_kind(const std::string& name) {
  for (const DeviceKind& kind : device_kinds()) {
    if (kind.owns(name)) return &kind;
  }
  return nullptr;
}

std::unique_ptr<Device> make_device(const std::string& name, const DeviceOptions& options) {
  if (const DeviceKind* kind = find_device_kind(name)) return kind->make(name, options);
  std::string names;
  for (const DeviceKind& kind : device_kinds()) {
    names += (names.empty() ? "" : ", ") + kind.names;
  }
  throw UsageError("unknown device '" + name + "'; valid: " + names +
                   "; `evener devices` shows what is here");
}

}  // namespace evener
