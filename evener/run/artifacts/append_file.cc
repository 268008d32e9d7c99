#include "evener/run/artifacts/append_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace evener {

AppendFile::AppendFile(const std::string& path) : path_(path) {
  // Non-blocking: where a pipe has this name, records that nobody reads must not stop the run.
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor_ < 0) fail("cannot open");
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void AppendFile::append(std::string_view record) {
  if (descriptor_ < 0) return;
  std::size_t written = 0;
  while (written < record.size()) {
    const ssize_t n = ::write(descriptor_, record.data() + written, record.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    written += static_cast<std::size_t>(n);
  }
  if (written == record.size()) return;
  fail("cannot write");
  struct stat status {};
  if (written > 0 && fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
    // Truncation needs no space. If it still fails, the reader sees a torn line.
    [[maybe_unused]] const int ignored =
        ftruncate(descriptor_, status.st_size - static_cast<off_t>(written));
  }
}

void AppendFile::drop_torn_line() {
  struct stat status {};
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return;
  off_t keep = status.st_size;
  std::array<char, 4096> block{};
  while (keep > 0) {
    const off_t begin = std::max<off_t>(0, keep - static_cast<off_t>(block.size()));
    const ssize_t n =
        pread(descriptor_, block.data(), static_cast<std::size_t>(keep - begin), begin);
    if (n != keep - begin) return fail("cannot read");
    const auto at = std::string_view(block.data(), static_cast<std::size_t>(n)).rfind('\n');
    if (at != std::string_view::npos) {
      keep = begin + static_cast<off_t>(at) + 1;
      break;
    }
    keep = begin;
  }
  if (keep < status.st_size && ftruncate(descriptor_, keep) != 0) fail("cannot shorten");
}

void AppendFile::fail(const char* what) {
  if (failed_) return;
  failed_ = true;
  warning_ = path_ + ": " + what + ": " + std::strerror(errno);
}

std::string AppendFile::take_warning() {
  return std::exchange(warning_, {});
}

}  // namespace evener
