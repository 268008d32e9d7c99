#include "evener/cluster/parameter_server/worker_orders.h"

#include <utility>

namespace evener {

namespace {

Arrival failed(Task task, const std::string& why, bool blameless) {
  Arrival arrival;
  arrival.task = std::move(task);
  arrival.failure = why;
  arrival.blameless = blameless;
  return arrival;
}

}  // namespace

std::optional<wire::Order> WorkerOrders::assign(Task task, int shards, std::uint64_t generation,
                                                Seconds now) {
  for (auto& item : items_) {
    const auto* change = std::get_if<MembershipChange>(&item);
    if (change == nullptr || change->kind != MembershipChange::Kind::lost ||
        change->worker != task.worker) {
      continue;
    }
    item = failed(std::move(task), std::string(change->why), true);
    return std::nullopt;
  }
  WorkerSlot& slot = slots_[static_cast<std::size_t>(task.worker)];
  return slot.assign(std::move(task), shards, generation, now);
}

void WorkerOrders::lose(int worker, const std::string& why, bool left) {
  if (auto task = slots_[static_cast<std::size_t>(worker)].abandon()) {
    put(failed(std::move(*task), why, left));
  } else {
    put(MembershipChange{MembershipChange::Kind::lost, worker, why, 0});
  }
}

std::optional<Arrival> WorkerOrders::take_arrival() {
  if (items_.empty() || !std::holds_alternative<Arrival>(items_.front())) return std::nullopt;
  Arrival arrival = std::move(std::get<Arrival>(items_.front()));
  items_.pop_front();
  return arrival;
}

std::optional<MembershipChange> WorkerOrders::take_change() {
  if (items_.empty() || !std::holds_alternative<MembershipChange>(items_.front())) {
    return std::nullopt;
  }
  MembershipChange change = std::move(std::get<MembershipChange>(items_.front()));
  items_.pop_front();
  return change;
}

void WorkerOrders::abandon_all() {
  for (auto& slot : slots_) slot.abandon();
  items_.clear();
}

}  // namespace evener
