// The registry's row for OpenCL devices. Defined by opencl_kind.cc or, in a build without
// OpenCL, by absent.cc.
#pragma once

#include "evener/device/registry.h"

namespace evener {

DeviceKind opencl_kind();

}  // namespace evener
