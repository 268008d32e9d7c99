// A thread that runs tasks one after the other: transports without threads of their own call
// handlers by it.
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
  /// Tasks that are left are not run. Not on its own thread.
  ~SerialExecutor();
  SerialExecutor(const SerialExecutor&) = delete;
  SerialExecutor& operator=(const SerialExecutor&) = delete;

  /// Returns at once. An task does not throw.
  void put(std::function<void()> task);
  /// Until all that was put before is done. Not on its own thread.
  void flush();
  /// Tasks that are not done.
  std::size_t waiting() const { return waiting_; }

 private:
  Mailbox<std::function<void()>> tasks_;
  std::atomic<std::size_t> waiting_ = 0;
  std::thread thread_;
};

}  // namespace evener
