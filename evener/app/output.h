// Results on standard output.
#pragma once

#include <string_view>

namespace evener {

/// The reader has gone (`| head`): nothing more is wanted, and that is no failure.
struct OutputClosed {};

/// Writes to standard output. Throws OutputClosed, or Error where writing fails (disk full).
void print(std::string_view text);
void flush_output();

}  // namespace evener
