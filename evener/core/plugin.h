// Plug-ins: parts of the command in shared objects that are loaded when they are needed.
#pragma once

#include <string>

namespace evener {

/// The path of a plug-in: beside the command, or where `cmake --install` puts it. Empty: not
/// found.
std::string plugin_file(const std::string& name);

}  // namespace evener
