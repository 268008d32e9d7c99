// The width of text in terminal columns, and wrapping.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace evener {

/// The columns a terminal needs for a UTF-8 text: colour codes and combining marks take none,
/// East Asian wide characters two.
std::size_t display_columns(std::string_view text);

/// Wraps the text at spaces, so that lines take at most `width` columns. Continuation lines are
/// indented to the line's second column (after a gap of two spaces or more) if there is room, else
/// to its beginning. A word that is longer than a line is broken after a punctuation mark, else at
/// the end of the line. Lines that fit stay unchanged.
std::string wrapped(std::string_view text, std::size_t width);

}  // namespace evener
