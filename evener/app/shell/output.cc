#include "evener/app/shell/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "evener/core/error.h"
#include "evener/run/report/progress_bar.h"

namespace evener {

namespace {

[[noreturn]] void fail() {
  if (errno == EPIPE) throw OutputClosed{};
  throw Error(std::string("cannot write to standard output: ") + std::strerror(errno));
}

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail();
}

void print_text(const std::string& text) {
  print(fitted(text, fileno(stdout)));
}

void print_message(const std::string& line) {
  std::fprintf(stderr, "%s\n", fitted(line, fileno(stderr)).c_str());
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
