// How many cores there are to compute on.
#pragma once

namespace evener {

/// Cores this process may run on, by its affinity mask.
int available_cores();

}  // namespace evener
