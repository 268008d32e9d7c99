// Results on standard output, messages on standard error.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace evener {

/// Opens /dev/null as standard input, output or error where the caller has closed it. Otherwise a
/// file that is opened later gets that number, and messages are written into it. What is written to
/// a closed standard output still fails. False if that is not possible.
bool open_standard_descriptors();

/// The reader has closed standard output (`| head`): the command ends, without an error.
struct OutputClosed {};

/// Writes to standard output. Throws OutputClosed, or Error if writing fails (disk full).
void print(std::string_view text);
/// Writes text for users: if standard output is a terminal, wraps lines at its width. Control
/// characters other than newlines are spelt out (core/printable.h).
void print_text(const std::string& text);
void flush_output();

/// Writes one line to standard error, wrapped in the same way. Newlines in it are spelt out too: a
/// name from a file cannot forge a line.
void print_message(const std::string& line);
/// What to say about a failure: the system's reason alone does not say that a thread is missing.
std::string message_of(const std::exception& problem);
/// `evener: warning: ...` and `evener: error: ...` on standard error.
void print_warning(const std::string& text);
void print_error(const std::string& text);

}  // namespace evener
