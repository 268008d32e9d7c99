// The first steps on a device wait for a compiler: drivers compile a kernel when it is first
// launched, whatever was built before. Timed steps would include that.
#pragma once

#include <memory>
#include <string>

#include "evener/device/opencl/context.h"

namespace evener::opencl {

/// Launches the kernels that such a network needs, on a tiny one. Once in a process for each device
/// and kind of network; `say` is told where no earlier run has compiled them.
void warm_up(const std::shared_ptr<Context>& context, const Network& network,
             const Training& training, const DeviceOptions& options);

}  // namespace evener::opencl
