// A worker slot of the coordinator: the task that is under way, and the parts of its push that have
// arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "evener/cluster/wire/wire.h"
#include "evener/runtime/task.h"

namespace evener {

/// Not thread-safe.
class WorkerSlot {
 public:
  /// Starts a task and returns the order for its worker. `shards`: the number of parts of a push.
  wire::Order assign(Task task, int shards, std::uint64_t generation, Seconds now);

  bool busy() const { return task_.has_value(); }
  /// Whether this is the expected push. A stale or repeated one is not.
  bool expects(const wire::Push& push) const;
  // The worker's report about its push, and each shard host's report about its part of it. They
  // return the arrival when all reports have arrived.
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
