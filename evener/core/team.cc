#include "evener/core/team.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace evener {

namespace {

// Steps are a fraction of a millisecond apart. So a member first spins for about as long as a
// wake-up by the kernel takes, and then sleeps.
constexpr int kSpins = 4000;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

template <class T>
void wait_until_changed(const std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

}  // namespace

Team::Team(int size) : size_(size), failures_(static_cast<std::size_t>(size)) {
  for (int member = 1; member < size; ++member) {
    try {
      threads_.emplace_back([this, member] { member_loop(member); });
    } catch (const std::system_error& problem) {  // a limit of the system
      end();
      throw Error(
          fmt::format("only {} of {} threads could be started ({}): use fewer, as in --devices "
                      "cpu:{}",
                      member, size, problem.code().message(), std::max(1, member / 2)));
    }
  }
}

Team::~Team() {
  end();
}

void Team::end() {
  stop_ = true;
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Team::run_one(int member) {
  try {
    (*work_)(member);
  } catch (...) {
    failures_[static_cast<std::size_t>(member)] = std::current_exception();
  }
}

void Team::member_loop(int member) {
  unsigned seen = 0;
  for (;;) {
    wait_until_changed(generation_, seen);
    ++seen;
    if (stop_.load(std::memory_order_acquire)) return;
    run_one(member);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

void Team::run(const std::function<void(int)>& work) {
  work_ = &work;
  running_.store(size_ - 1, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  if (size_ > 1) generation_.notify_all();
  run_one(0);
  for (int left = running_.load(std::memory_order_acquire); left != 0;
       left = running_.load(std::memory_order_acquire)) {
    wait_until_changed(running_, left);
  }
  for (auto& failure : failures_) {
    if (failure) {
      const auto first = std::exchange(failure, nullptr);
      for (auto& other : failures_) other = nullptr;
      std::rethrow_exception(first);
    }
  }
}

void Team::barrier() {
  if (size_ == 1) return;
  const unsigned phase = phase_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) == size_ - 1) {
    arrived_.store(0, std::memory_order_relaxed);
    phase_.fetch_add(1, std::memory_order_release);
    phase_.notify_all();
  } else {
    wait_until_changed(phase_, phase);
  }
}

}  // namespace evener
