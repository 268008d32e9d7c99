// The CPU as a device: `cpu:T`, a team of T threads that train one replica together.
#pragma once

#include <memory>
#include <string>

#include "evener/device/device.h"

namespace evener::cpu {

/// `threads` 0: one for each core.
std::unique_ptr<Device> make_cpu_device(int threads);

/// Cores this process may run on.
int available_cores();

}  // namespace evener::cpu
