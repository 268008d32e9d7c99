#include "evener/app/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "evener/core/error.h"

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

void flush_output() {
  if (std::fflush(stdout) != 0) fail();
}

}  // namespace evener
