// Text from data files and other processes, made safe for terminals, logs and pages.
#pragma once

#include <string>
#include <string_view>

namespace evener {

/// Control characters (C0, DEL and C1) and bytes that are not valid UTF-8 become \xNN: a terminal
/// would take them as commands. All other text stays unchanged.
std::string printable(std::string_view text);

/// The same for text of several lines: newlines stay.
std::string printable_lines(std::string_view text);

}  // namespace evener
