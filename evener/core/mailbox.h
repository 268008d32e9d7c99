// A queue between threads. Writers do not wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "evener/core/time.h"

namespace evener {

/// Many threads put messages in, one takes them out.
template <class T>
class Mailbox {
 public:
  void put(T message) {
    {
      const std::lock_guard lock(mutex_);
      messages_.push_back(std::move(message));
    }
    filled_.notify_one();
  }
  /// Nothing: closed.
  std::optional<T> get() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return closed_ || !messages_.empty(); });
    return first();
  }
  /// Nothing: closed, or no message has arrived within that time.
  std::optional<T> get_within(Seconds time) {
    std::unique_lock lock(mutex_);
    filled_.wait_for(lock, std::chrono::duration<Seconds>(time),
                     [this] { return closed_ || !messages_.empty(); });
    return first();
  }
  /// Messages that are still in it are dropped.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      messages_.clear();
    }
    filled_.notify_all();
  }

 private:
  std::optional<T> first() {
    if (messages_.empty()) return std::nullopt;
    T message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<T> messages_;
  bool closed_ = false;
};

}  // namespace evener
