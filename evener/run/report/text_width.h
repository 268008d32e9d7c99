// Text in columns of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace evener {

/// The columns a terminal needs for a UTF-8 text: colour codes and combining marks take none,
/// East Asian wide characters two.
std::size_t display_columns(std::string_view text);

/// The text with its lines broken at spaces so that they take at most `width` columns. What goes on
/// in the next line stands below the line's second column (after a gap of two spaces or more), if
/// that leaves room, else below its beginning. A word that is too long for any line is broken after
/// a punctuation mark, else where the line ends. Lines that fit stay as they are.
std::string wrapped(std::string_view text, std::size_t width);

}  // namespace evener
