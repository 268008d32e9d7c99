// Text for a number of things.
#pragma once

#include <cstdint>
#include <string>

namespace evener {

/// "1 row", "3 rows".
inline std::string counted(std::uint64_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

}  // namespace evener
