// Orders to workers, and the queue of what the scheduler receives in return: tasks that have ended,
// and workers that have joined, were lost or are suspected.
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

/// Not thread-safe: the caller holds its lock.
class WorkerOrders {
 public:
  explicit WorkerOrders(int slots) : slots_(static_cast<std::size_t>(slots)) {}

  WorkerSlot& slot(std::uint64_t worker) { return slots_[worker]; }
  std::size_t slots() const { return slots_.size(); }

  /// Returns the order for the task's worker. Returns nothing if the worker was lost before: the
  /// task then fails.
  std::optional<wire::Order> assign(Task task, int shards, std::uint64_t generation, Seconds now);
  /// The worker is lost, or has left by itself. Its task, if it had one, has failed.
  void lose(int worker, const std::string& why, bool left);
  void put(Arrival arrival) { items_.push_back(std::move(arrival)); }
  void put(MembershipChange change) { items_.push_back(std::move(change)); }

  // For the scheduler, in the order of events.
  bool empty() const { return items_.empty(); }
  /// Nothing if the next item is a membership change.
  std::optional<Arrival> take_arrival();
  std::optional<MembershipChange> take_change();
  /// Drops what the scheduler has not taken.
  void clear_queue() { items_.clear(); }
  /// The scheduler ends: tasks that are under way are dropped.
  void abandon_all();

 private:
  std::vector<WorkerSlot> slots_;
  std::deque<std::variant<Arrival, MembershipChange>> items_;
};

}  // namespace evener
