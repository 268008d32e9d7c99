// The rows of policy/strategies/. CMake writes the definition (built_in_strategies.cc.in): it calls
// FILE_strategy() for each FILE.cc of that folder, so that there is no list to edit. (Objects that
// register themselves would be dropped from a static library.)
#pragma once

#include <vector>

#include "evener/policy/strategy.h"

namespace evener {

std::vector<Strategy> built_in_strategies();

}  // namespace evener
