#pragma once

namespace evener {

/// As in CMakeLists.txt.
extern const char* const kVersion;

}  // namespace evener
