// A thread that sends heartbeats while the worker computes. They carry a count that the working
// thread increments, so that the receiver detects one that hangs.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "evener/cluster/wire/wire.h"
#include "evener/core/time.h"

namespace evener {

class HeartbeatThread {
 public:
  /// `channel` outlives it.
  HeartbeatThread(Channel& channel, Seconds every)
      : thread_([this, &channel, every] { beat(channel, every); }) {}
  /// The working thread has done something: received a message or completed a step.
  void advance() { progress_.fetch_add(1, std::memory_order_relaxed); }
  ~HeartbeatThread() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  HeartbeatThread(const HeartbeatThread&) = delete;
  HeartbeatThread& operator=(const HeartbeatThread&) = delete;

 private:
  void beat(Channel& channel, Seconds every) {
    wire::Head head;
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      head.mutable_heartbeat()->set_progress(progress_.load(std::memory_order_relaxed));
      channel.send(message_of(head));
      changed_.wait_for(lock, std::chrono::duration<Seconds>(every), [this] { return stopped_; });
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::atomic<std::uint64_t> progress_ = 0;
  std::thread thread_;  // last: it uses the others
};

}  // namespace evener
