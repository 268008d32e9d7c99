#include "evener/run/devices/find_devices.h"

#include "evener/device/cuda/probe.h"
#include "evener/device/opencl/list.h"

namespace evener {

FoundDevices find_devices(const std::string& cpu) {
  FoundDevices found{cpu, {}};
  const cuda::Probe cards = cuda::probe();
  for (const auto& card : cards.cards) found.list += "," + card.name;
  for (const auto& device : opencl::list()) {
    const std::string name = opencl::to_string(device.place);
    const bool by_cuda =
        !cards.cards.empty() && device.description.find("NVIDIA") != std::string::npos;
    if (!device.usable) {
      found.left_out.push_back(name + " (" + device.why_not + ")");
    } else if (device.processor) {
      found.left_out.push_back(name + " (the same cores as " + cpu + ")");
    } else if (by_cuda) {
      found.left_out.push_back(name + " (CUDA drives that card)");
    } else {
      found.list += "," + name;
    }
  }
  return found;
}

}  // namespace evener
