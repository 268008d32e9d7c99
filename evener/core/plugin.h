// Parts of the command that are shared objects of their own, loaded when they are needed.
#pragma once

#include <string>

namespace evener {

/// The path of such a file: beside the command, or where `cmake --install` puts it. Empty: not
/// found.
std::string plugin_file(const std::string& name);

}  // namespace evener
