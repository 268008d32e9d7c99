// A thread that sends heartbeats while the worker computes.
#pragma once

#include <chrono>
#include <condition_variable>
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
    head.mutable_heartbeat();
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      channel.send(message_of(head));
      changed_.wait_for(lock, std::chrono::duration<Seconds>(every), [this] { return stopped_; });
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace evener
