// Whether CUDA can be used here, and the way to its devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evener/device/cuda/plugin.h"

namespace evener::cuda {

struct Probe {
  std::vector<Card> cards;
  std::string why_not;  // where there are none
};
Probe probe();

/// "cuda:N". UsageError where there is no such card, with the reason.
std::unique_ptr<Device> make_cuda_device(const std::string& name, const DeviceOptions& options);

}  // namespace evener::cuda
