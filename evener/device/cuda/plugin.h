// The CUDA devices are in a shared object of their own, which is loaded when they are first needed:
// the command starts and works where no CUDA library is installed.
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
  /// Error with the driver's reason where there is no usable card.
  virtual std::vector<Card> cards() = 0;
  virtual std::unique_ptr<Device> open(int card, const DeviceOptions& options) = 0;
};

/// What the shared object is asked for, by this name. Host and plug-in must be of one build: both
/// hand over kPluginVersion, and null is the answer to another.
inline constexpr const char* kPluginEntry = "evener_cuda_plugin";
inline constexpr const char* kPluginVersion = "1 " __VERSION__;
using PluginEntry = Plugin* (*)(const char* version);

}  // namespace evener::cuda
