// Where tasks run and where time comes from: threads and the wall clock, or an event queue and a
// computed clock. The coordinator is the same on both.
#pragma once

#include <optional>
#include <vector>

#include "evener/runtime/task.h"

namespace evener {

class Stage {
 public:
  virtual ~Stage() = default;

  virtual Seconds now() const = 0;
  /// Starts a task on its idle worker and returns at once.
  virtual void start(Task task) = 0;
  /// The next task that ends, of which at least one is under way; nothing where a time that wake_at
  /// was told comes before.
  virtual std::optional<Arrival> next() = 0;
  virtual void wake_at(Seconds time) = 0;

  // Workers that are not there from the start: `next` returns nothing when one comes.
  virtual bool is_there(int /*worker*/) const { return true; }
  /// Those that have come since this was last asked.
  virtual std::vector<int> take_joined() { return {}; }
  /// A merge over all workers has just been carried out: time for it passes.
  virtual void pass_merge() {}
  /// So many pushes have just been brought into the shared model.
  virtual void pass_absorb(std::size_t /*pushes*/) {}
};

}  // namespace evener
