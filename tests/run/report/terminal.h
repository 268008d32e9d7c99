// A pseudo-terminal.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace evener {

/// A pseudo-terminal that records the output a user's terminal would receive.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) return;
    stream_ = std::fopen(ptsname(master_), "w");
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    if (stream_ != nullptr) std::fclose(stream_);
    close(master_);
  }
  std::FILE* stream() { return stream_; }
  std::string path() const { return ptsname(master_); }
  void resize(unsigned short columns) {
    winsize size{24, columns, 0, 0};
    ASSERT_EQ(ioctl(master_, TIOCSWINSZ, &size), 0);
  }
  std::string received() {
    std::string text;
    pollfd waiting{master_, POLLIN, 0};
    while (poll(&waiting, 1, 0) > 0) {
      std::array<char, 4096> block{};
      const ssize_t n = read(master_, block.data(), block.size());
      if (n <= 0) break;
      text.append(block.data(), static_cast<std::size_t>(n));
    }
    return text;
  }

 private:
  int master_;
  std::FILE* stream_ = nullptr;
};

}  // namespace evener
