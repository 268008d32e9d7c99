// The registry's row for NVIDIA cards. Defined by cuda_kind.cc or, in a build without CUDA, by
// absent.cc.
#pragma once

#include "evener/device/registry.h"

namespace evener {

DeviceKind cuda_kind();

}  // namespace evener
