// A barrier for the ranks of a test that does not use the tested transport: shared memory between
// threads, forked processes, or processes that a launcher started.
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
constexpr Seconds kTimeout = 60;  // timeout of the barrier

class Rendezvous {
 public:
  /// Shared with processes that this one forks later.
  Rendezvous() : Rendezvous(-1) {}
  /// In a file of zeros of at least a page.
  explicit Rendezvous(const std::string& path)
      : Rendezvous(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (file_ < 0) throw Error(path + ": cannot be opened");
  }
  ~Rendezvous() {
    munmap(shared_, sizeof(Shared));
    if (file_ >= 0) close(file_);
  }
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  void write(int rank, const std::string& text) {
    auto& line = shared_->lines[static_cast<std::size_t>(rank)];
    std::copy_n(text.c_str(), std::min(text.size() + 1, line.size() - 1), line.begin());
  }
  std::string read(int rank) const { return shared_->lines[static_cast<std::size_t>(rank)].data(); }
  /// Ends the wait of all other ranks.
  void fail() { shared_->failed = 1; }
  /// Counts this rank, and returns when `total` arrivals were counted since the start.
  void arrive_and_wait(std::uint32_t total) {
    ++shared_->arrived;
    for (const Stopwatch waited; shared_->arrived < total;) {
      if (shared_->failed != 0) throw Error("another rank has failed");
      if (waited.elapsed() > kTimeout) throw Error("a rank did not come");
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

 private:
  struct Shared {
    std::atomic<std::uint32_t> arrived, failed;
    std::array<std::array<char, 128>, kMostRanks> lines;
  };
  static_assert(sizeof(Shared) <= 4096 && std::atomic<std::uint32_t>::is_always_lock_free);

  explicit Rendezvous(int file) : file_(file) {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                        file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) throw Error("no memory that ranks could share");
    shared_ = static_cast<Shared*>(memory);
  }

  int file_;
  Shared* shared_ = nullptr;
};

}  // namespace evener
