// What is wrong with a row of the catalogue, before a user can choose it.
#pragma once

#include <list>

#include "evener/policy/strategy.h"

namespace evener {

/// Error if the row is incomplete, if it contradicts one of `others`, or if an option has a name
/// that is reserved (reserve_option_names).
void check_row(const Strategy& row, const std::list<Strategy>& others);

}  // namespace evener
