// The registry's row for the processor: all cores, or teams of T threads.
#pragma once

#include "evener/device/registry.h"

namespace evener {

DeviceKind cpu_kind();

}  // namespace evener
