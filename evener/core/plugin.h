// Parts of the command in shared objects of their own, which are loaded when they are first
// needed.
#pragma once

#include <string>

namespace evener {

/// Where such a file is: beside the command, or where `cmake --install` puts it. Empty: nowhere.
std::string plugin_file(const std::string& name);

}  // namespace evener
