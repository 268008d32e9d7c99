// A thread that runs errands one after the other: transports without threads of their own call
// handlers by it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>

#include "evener/core/mailbox.h"

namespace evener {

class Courier {
 public:
  Courier();
  /// Errands that are left are not run. Not on its own thread.
  ~Courier();
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  /// Returns at once. An errand does not throw.
  void put(std::function<void()> errand);
  /// Until all that was put before is done. Not on its own thread.
  void flush();
  /// Errands that are not done.
  std::size_t waiting() const { return waiting_; }

 private:
  Mailbox<std::function<void()>> errands_;
  std::atomic<std::size_t> waiting_ = 0;
  std::thread thread_;
};

}  // namespace evener
