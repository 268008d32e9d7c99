#include "evener/app/shell/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "evener/core/error.h"
#include "evener/core/printable.h"
#include "evener/run/report/progress_bar.h"

namespace evener {

namespace {

[[noreturn]] void fail() {
  if (errno == EPIPE) throw OutputClosed{};
  throw Error(std::string("cannot write to standard output: ") + std::strerror(errno));
}

}  // namespace

bool open_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    // `open` returns the lowest free number, which is this one. The wrong direction makes reads and
    // writes fail, as on a closed descriptor.
    const int opened =
        open("/dev/null", (descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_NOCTTY);
    if (opened < 0) return false;
  }
  return true;
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail();
}

void print_text(const std::string& text) {
  print(fitted(printable_lines(text), fileno(stdout)));
}

void print_message(const std::string& line) {
  std::fprintf(stderr, "%s\n", fitted(printable(line), fileno(stderr)).c_str());
}

std::string message_of(const std::exception& problem) {
  const auto* failure = dynamic_cast<const std::system_error*>(&problem);
  if (failure == nullptr || failure->code() != std::errc::resource_unavailable_try_again) {
    return problem.what();
  }
  return "a thread could not be started, at a limit of the system: " + failure->code().message();
}

void print_error(const std::string& text) {
  print_message("evener: error: " + text);
}

void print_warning(const std::string& text) {
  print_message("evener: warning: " + text);
}

void flush_output() {
  if (std::fflush(stdout) != 0) fail();
}

}  // namespace evener
