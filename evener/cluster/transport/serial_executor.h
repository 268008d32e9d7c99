// A thread that runs tasks one after the other. Transports without threads of their own call
// handlers on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>

#include "evener/core/mailbox.h"

namespace evener {

class SerialExecutor {
 public:
  SerialExecutor();
  /// Drops the tasks that are left. Not on its own thread.
  ~SerialExecutor();
  SerialExecutor(const SerialExecutor&) = delete;
  SerialExecutor& operator=(const SerialExecutor&) = delete;

  /// Returns at once. A task must not throw.
  void put(std::function<void()> task);
  /// Waits until all tasks that were put before are done. Not on its own thread.
  void flush();
  /// How many tasks are not done.
  std::size_t waiting() const { return waiting_; }

 private:
  Mailbox<std::function<void()>> tasks_;
  std::atomic<std::size_t> waiting_ = 0;
  std::thread thread_;
};

}  // namespace evener
