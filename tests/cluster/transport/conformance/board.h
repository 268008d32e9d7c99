// Where the ranks of a test meet outside of the transport that is tested: memory that they share,
// whether they are threads, forked processes or processes that a launcher started.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "evener/core/error.h"
#include "evener/core/time.h"

namespace evener {

constexpr int kMostRanks = 16;
constexpr Seconds kMeeting = 60;  // that ranks wait for each other at most

class Board {
 public:
  /// Shared with processes that this one forks later.
  Board() : Board(-1) {}
  /// In a file of zeros of at least a page.
  explicit Board(const std::string& path) : Board(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (file_ < 0) throw Error(path + ": cannot be opened");
  }
  ~Board() {
    munmap(shared_, sizeof(Shared));
    if (file_ >= 0) close(file_);
  }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  void write(int rank, const std::string& text) {
    auto& line = shared_->lines[static_cast<std::size_t>(rank)];
    std::copy_n(text.c_str(), std::min(text.size() + 1, line.size() - 1), line.begin());
  }
  std::string read(int rank) const { return shared_->lines[static_cast<std::size_t>(rank)].data(); }
  /// Others that wait do so no longer.
  void fail() { shared_->failed = 1; }
  /// One more is here; returns when `total` have been, over all meetings.
  void arrive_and_wait(std::uint32_t total) {
    ++shared_->arrived;
    for (const Stopwatch waited; shared_->arrived < total;) {
      if (shared_->failed != 0) throw Error("another rank has failed");
      if (waited.elapsed() > kMeeting) throw Error("a rank did not come");
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

 private:
  struct Shared {
    std::atomic<std::uint32_t> arrived, failed;
    std::array<std::array<char, 128>, kMostRanks> lines;
  };
  static_assert(sizeof(Shared) <= 4096 && std::atomic<std::uint32_t>::is_always_lock_free);

  explicit Board(int file) : file_(file) {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                        file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) throw Error("no memory that ranks could share");
    shared_ = static_cast<Shared*>(memory);
  }

  int file_;
  Shared* shared_ = nullptr;
};

}  // namespace evener
