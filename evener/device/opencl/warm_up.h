// Warms up a device before timed steps: drivers compile a kernel at its first launch, even if the
// program was built before.
#pragma once

#include <memory>
#include <string>

#include "evener/device/opencl/context.h"

namespace evener::opencl {

/// Launches the kernels that such a network needs, on a tiny network. Done once per process for
/// each device and kind of network. Calls `say` if no earlier run has compiled the kernels.
void warm_up(const std::shared_ptr<Context>& context, const Network& network,
             const Training& training, const DeviceOptions& options);

}  // namespace evener::opencl
