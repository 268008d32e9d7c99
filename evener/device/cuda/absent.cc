// The registry's row in a build without CUDA: accepts the names, and refuses to open devices, with
// the reason.
#include "evener/device/cuda/cuda_kind.h"
#include "evener/device/cuda/names.h"

namespace evener {

namespace {

constexpr const char* kWhyNot = "this evener was built without CUDA (EVENER_CUDA)";

std::unique_ptr<Device> make(const std::string& name, const DeviceOptions& /*options*/) {
  cuda::parse_card(name);
  throw UsageError("device '" + name + "': CUDA is not usable here: " + kWhyNot);
}

DeviceList list() {
  return {{}, kWhyNot};
}

}  // namespace

DeviceKind cuda_kind() {
  DeviceKind kind = cuda::named_kind();
  kind.make = make;
  kind.list = list;
  return kind;
}

}  // namespace evener
