// The task that a worker slot of the coordinator has under way, and what has arrived of its push.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "evener/cluster/wire/wire.h"
#include "evener/runtime/task.h"

namespace evener {

/// One call at a time.
class WorkerSlot {
 public:
  /// Starts a task; the order for its worker. `shards`: so many parts a push has.
  wire::Order assign(Task task, int shards, std::uint64_t generation, Seconds now);

  /// Whether this is the expected push. A stale or repeated one is not.
  bool expects(const wire::Push& push) const;
  // What the worker reports about its push, and what the host of each shard reports about its part.
  // Returns the arrival when everything is there.
  std::optional<Arrival> push_arrived(const wire::Push& push, Seconds now);
  std::optional<Arrival> part_arrived(const wire::Pushed& part, Seconds now);
  /// The worker is lost, or the model is replaced. Returns the task that was under way.
  std::optional<Task> abandon();

 private:
  std::optional<Arrival> arrival_if_complete(Seconds now);

  std::optional<Task> task_;  // under way
  int shards_ = 1;
  std::uint64_t generation_ = 0;  // of the worker that has the task
  std::uint64_t sequence_ = 0;    // of the last order
  Seconds ordered_ = 0;
  wire::Push push_;
  int parts_ = 0;          // of the push that have arrived
  std::size_t bytes_ = 0;  // of these parts, and of their pulls
  std::string invalid_;    // why the push cannot be used
};

}  // namespace evener
