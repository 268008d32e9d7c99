// Orders to workers and what the scheduler is told in return: tasks that have ended, and workers
// that have joined, were lost or are suspected.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "evener/cluster/parameter_server/worker_slot.h"
#include "evener/runtime/executor.h"

namespace evener {

/// One call at a time: the caller holds its lock.
class WorkerOrders {
 public:
  explicit WorkerOrders(int slots) : slots_(static_cast<std::size_t>(slots)) {}

  WorkerSlot& slot(std::uint64_t worker) { return slots_[worker]; }
  std::size_t slots() const { return slots_.size(); }

  /// The order for the task's worker. Nothing where the worker was lost before: the loss becomes
  /// the failure of the task.
  std::optional<wire::Order> assign(Task task, int shards, std::uint64_t generation, Seconds now);
  /// The worker is lost. Its task, if it had one, has failed.
  void lose(int worker, const std::string& why);
  void put(Arrival arrival) { items_.push_back(std::move(arrival)); }
  void put(Change change) { items_.push_back(std::move(change)); }

  // For the scheduler, in the order in which things happened.
  bool empty() const { return items_.empty(); }
  /// Nothing where a change comes first.
  std::optional<Arrival> take_arrival();
  std::vector<Change> take_changes();
  /// What the scheduler has not taken is dropped.
  void clear_queue() { items_.clear(); }
  /// The scheduler ends: no task is under way any more.
  void abandon_all();

 private:
  std::vector<WorkerSlot> slots_;
  std::deque<std::variant<Arrival, Change>> items_;
};

}  // namespace evener
