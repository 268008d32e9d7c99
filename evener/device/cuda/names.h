// The names of CUDA devices, in builds with and without CUDA.
#pragma once

#include <string>

#include "evener/device/registry.h"

namespace evener::cuda {

/// The card's number in `cuda:N`. UsageError if the name is not well formed.
int parse_card(const std::string& name);

/// The registry's row without its functions that need CUDA.
DeviceKind named_kind();

}  // namespace evener::cuda
