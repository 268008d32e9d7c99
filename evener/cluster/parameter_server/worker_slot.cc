#include "evener/cluster/parameter_server/worker_slot.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"

namespace evener {

wire::Order WorkerSlot::assign(Task task, int shards, std::uint64_t generation, Seconds now) {
  if (task_) throw Error(fmt::format("worker {} has a task already", task.worker));
  task_ = std::move(task);
  shards_ = shards;
  generation_ = generation;
  ordered_ = now;
  ++sequence_;
  parts_ = 0;
  bytes_ = 0;
  invalid_.clear();
  wire::Order order;
  order.set_sequence(sequence_);
  for (const auto& part : task_->parts) {
    wire::Step& step = *order.add_steps();
    step.mutable_rows()->Add(part.slice.rows.begin(), part.slice.rows.end());
    step.set_number(part.step.number);
    step.set_learning_rate(part.step.learning_rate);
  }
  return order;
}

bool WorkerSlot::expects(const wire::Push& push) const {
  return task_ && push.sequence() == sequence_ && push.generation() == generation_ &&
         push_.sequence() != sequence_;
}

std::optional<Arrival> WorkerSlot::push_arrived(const wire::Push& push, Seconds now) {
  push_ = push;
  if (!std::isfinite(push.compute()) || push.compute() < 0) {  // it would decide about batch sizes
    push_.set_compute(0);
    invalid_ = "its computing time is not a number of seconds";
  }
  return arrival_if_complete(now);
}

std::optional<Arrival> WorkerSlot::part_arrived(const wire::Pushed& part, Seconds now) {
  if (!task_ || part.sequence() != sequence_ || part.generation() != generation_) {
    return std::nullopt;
  }
  ++parts_;
  bytes_ += part.bytes();
  if (!part.invalid().empty()) invalid_ = part.invalid();
  return arrival_if_complete(now);
}

std::optional<Arrival> WorkerSlot::arrival_if_complete(Seconds now) {
  if (parts_ < shards_ || push_.sequence() != sequence_) return std::nullopt;
  Arrival arrival;
  arrival.loss_sum = push_.loss_sum();
  arrival.stats.begin = ordered_;
  arrival.stats.compute = push_.compute();
  arrival.stats.transfer = now - ordered_ - push_.compute();
  arrival.stats.end = now;
  arrival.stats.bytes = bytes_;
  arrival.invalid = invalid_;
  arrival.task = std::move(*task_);
  task_.reset();
  return arrival;
}

std::optional<Task> WorkerSlot::abandon() {
  push_.Clear();
  return std::exchange(task_, std::nullopt);
}

}  // namespace evener
