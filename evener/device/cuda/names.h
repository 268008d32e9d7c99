// How CUDA devices are named; the same with and without CUDA in the build.
#pragma once

#include <string>

#include "evener/device/registry.h"

namespace evener::cuda {

/// The card's number in `cuda:N`. UsageError if the name is not well formed.
int parse_card(const std::string& name);

/// The part of the registry's row that is about names.
DeviceKind named_kind();

}  // namespace evener::cuda
