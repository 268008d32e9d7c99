// The registry's row in a build without OpenCL: accepts the names, and refuses to open devices,
// with the reason.
#include "evener/device/opencl/names.h"
#include "evener/device/opencl/opencl_kind.h"

namespace evener {

namespace {

constexpr const char* kWhyNot = "this evener was built without OpenCL (EVENER_OPENCL)";

std::unique_ptr<Device> make(const std::string& name, const DeviceOptions& /*options*/) {
  opencl::parse_device_id(name);
  throw UsageError("device '" + name + "': " + kWhyNot);
}

DeviceList list() {
  return {{}, kWhyNot};
}

}  // namespace

DeviceKind opencl_kind() {
  DeviceKind kind = opencl::named_kind();
  kind.make = make;
  kind.list = list;
  return kind;
}

}  // namespace evener
