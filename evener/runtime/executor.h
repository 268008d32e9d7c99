// Where tasks run and where time comes from: threads and the wall clock, or an event queue and a
// computed clock. The scheduler is the same on both.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "evener/runtime/task.h"

namespace evener {

/// Somebody came or went while they had no task.
struct Change {
  enum class Kind { joined, lost, suspected, trusted };
  Kind kind = Kind::joined;
  int worker = 0;
  std::string why;            // of a loss
  std::size_t most_rows = 0;  // of one who joined: of a batch, by its memory; 0: no limit
};

class Executor {
 public:
  virtual ~Executor() = default;

  virtual Seconds now() const = 0;
  /// Starts a task on its idle worker and returns at once.
  virtual void start(Task task) = 0;
  /// The next task that ends; nothing where a time that set_timer was told comes before, or where
  /// somebody comes or goes. At least one task is under way, or awaits() is true.
  virtual std::optional<Arrival> next() = 0;
  virtual void set_timer(Seconds time) = 0;
  /// A message of so many bytes sets out. It counts as a task under way, and arrives like one.
  virtual void send(const GossipMessage& /*message*/, std::size_t /*bytes*/) {}

  // Workers that come and go.
  virtual bool is_there(int /*worker*/) const { return true; }
  /// In the order they happened, since this was last asked. Of a worker that had a task a loss is
  /// the task's failure instead.
  virtual std::vector<Change> take_changes() { return {}; }
  /// Whether a run that has lost every worker waits for others.
  virtual bool awaits() const { return false; }
  /// A merge over all workers has just been carried out: time for it passes.
  virtual void pass_merge() {}
  /// What such a merge moves from and to a worker.
  virtual std::size_t merge_bytes(int /*worker*/) const { return 0; }
  /// So many pushes have just been brought into the shared model.
  virtual void pass_apply_pushes(std::size_t /*pushes*/) {}
};

}  // namespace evener
