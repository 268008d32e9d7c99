// Where tasks run and where time comes from: threads and the wall clock, or an event queue and a
// computed clock. The coordinator is the same on both.
#pragma once

#include "evener/runtime/task.h"

namespace evener {

class Stage {
 public:
  virtual ~Stage() = default;

  virtual Seconds now() const = 0;
  /// Starts a task on its idle worker and returns at once.
  virtual void start(Task task) = 0;
  /// The next task that ends; at least one is under way.
  virtual Arrival next() = 0;
  /// A merge over all workers has just been carried out: time for it passes.
  virtual void pass_merge() {}
};

}  // namespace evener
