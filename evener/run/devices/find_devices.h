// What `--devices auto` is on this machine.
#pragma once

#include <string>
#include <vector>

namespace evener {

struct FoundDevices {
  std::string list;                   // as --devices takes it
  std::vector<std::string> left_out;  // what else there is, and why it does not train
};

/// The processor, named `cpu`, and every accelerator. An OpenCL device that is the processor again
/// would only take cores away from it, and a card that CUDA drives is not opened by OpenCL too.
FoundDevices find_devices(const std::string& cpu);

}  // namespace evener
