// The version of the program.
#pragma once

namespace evener {

/// The version in CMakeLists.txt.
extern const char* const kVersion;

}  // namespace evener
