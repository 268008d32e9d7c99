// The CUDA devices are in a separate shared object, which is loaded on first use. So the command
// also runs on machines without CUDA libraries.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "evener/device/device.h"

namespace evener::cuda {

struct Card {
  std::string name;         // as in --devices: cuda:0
  std::string description;  // human-readable
  std::size_t memory = 0;   // bytes
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  /// Throws Error with the driver's reason if there is no usable card.
  virtual std::vector<Card> cards() = 0;
  virtual std::unique_ptr<Device> open(int card, const DeviceOptions& options) = 0;
};

/// The name of the shared object's entry function. Host and plug-in must be from one build: the
/// function returns null if the caller's kPluginVersion differs.
inline constexpr const char* kPluginEntry = "evener_cuda_plugin";
inline constexpr const char* kPluginVersion = "1 " __VERSION__;
using PluginEntry = Plugin* (*)(const char* version);

}  // namespace evener::cuda
