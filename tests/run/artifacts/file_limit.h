// Simulates a full disk by a limit on the size of files, for any user and file system.
#pragma once

#include <csignal>
#include <cstddef>

#include <sys/resource.h>

namespace evener {

/// During its lifetime, writes past `bytes` to any file of this process fail (EFBIG).
class FileLimit {
 public:
  explicit FileLimit(std::size_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace evener
