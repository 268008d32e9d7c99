// What `--devices auto` is on this machine.
#pragma once

#include <string>
#include <vector>

namespace evener {

struct FoundDevices {
  std::string list;                   // as --devices takes it
  std::vector<std::string> left_out;  // what else there is, and why it does not train
};

/// The processor, named `cpu`, and every accelerator. A device that runs on the processor's own
/// cores would only take them away from it, and a card that one kind of device drives is not opened
/// by another kind too (CUDA and OpenCL).
FoundDevices find_devices(const std::string& cpu);

}  // namespace evener
