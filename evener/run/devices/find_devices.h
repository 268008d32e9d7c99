// Finds the devices of `--devices auto` on this machine.
#pragma once

#include <string>
#include <vector>

namespace evener {

struct FoundDevices {
  std::string list;                   // in the format of --devices
  std::vector<std::string> left_out;  // other devices, with the reasons
};

/// The processor, named `cpu`, and every accelerator. Leaves out devices that run on the
/// processor's own cores, and cards that another kind of device already drives (CUDA and OpenCL).
FoundDevices find_devices(const std::string& cpu);

}  // namespace evener
