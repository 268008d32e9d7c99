// The folder of the public data sets (docs/data.md), for tests and benches that use them.
#pragma once

#include <cstdlib>
#include <string>

#include "tests/places.h"

namespace evener {

/// EVENER_DATA, or the folder shared/data beside the repository. It may not exist. Ends with '/'.
inline std::string data_folder() {
  const char* given = std::getenv("EVENER_DATA");
  return given != nullptr ? std::string(given) + "/" : EVENER_SOURCE_DIR "/../shared/data/";
}

}  // namespace evener
