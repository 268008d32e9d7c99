// The number of cores for computing.
#pragma once

namespace evener {

/// Cores this process may run on, by its affinity mask.
int available_cores();

}  // namespace evener
