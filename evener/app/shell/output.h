// Results on standard output.
#pragma once

#include <string>
#include <string_view>

namespace evener {

/// The reader has closed standard output (`| head`): output ends, and that is not a failure.
struct OutputClosed {};

/// Writes to standard output. Throws OutputClosed, or Error where writing fails (disk full).
void print(std::string_view text);
/// The same for people: where standard output is a terminal, lines are wrapped at its width.
void print_text(const std::string& text);
void flush_output();

/// A line on standard error, wrapped likewise.
void tell(const std::string& line);

}  // namespace evener
