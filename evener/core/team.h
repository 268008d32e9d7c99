// A team of threads that run one function together: fork and join without a queue.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace evener {

/// `Team(n)` keeps n - 1 threads; the caller is member 0. Work is split by member index, never
/// stolen, so that results depend on n and on nothing else.
class Team {
 public:
  /// Error if the system starts fewer threads than that.
  explicit Team(int size);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  int size() const { return size_; }

  /// Runs work(member) on every member and returns when all are done. The first exception that a
  /// member threw (lowest index) is thrown again here. Work that uses `barrier` must not throw.
  void run(const std::function<void(int)>& work);

  /// Inside `run`: waits until every member has arrived.
  void barrier();

 private:
  void end();
  void member_loop(int member);
  void run_one(int member);

  int size_;
  const std::function<void(int)>* work_ = nullptr;
  std::atomic<unsigned> generation_{0};
  std::atomic<int> running_{0};
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> phase_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::exception_ptr> failures_;
  std::vector<std::thread> threads_;
};

/// The part of [0, total) that falls to `member` of `members`, cut at multiples of `unit`.
struct Range {
  std::size_t begin, end;
};
inline Range share_of(std::size_t total, int members, int member, std::size_t unit = 1) {
  const std::size_t units = (total + unit - 1) / unit;
  const auto cut = [&](std::size_t m) {
    const std::size_t at = units * m / static_cast<std::size_t>(members) * unit;
    return at < total ? at : total;
  };
  const auto m = static_cast<std::size_t>(member);
  return {cut(m), cut(m + 1)};
}

}  // namespace evener
