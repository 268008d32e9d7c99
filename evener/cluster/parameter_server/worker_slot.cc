#include "evener/cluster/parameter_server/worker_slot.h"

#include <utility>

namespace evener {

void WorkerSlot::assign(const Task& given, Seconds now, ServedModel& model) {
  const std::lock_guard lock(mutex_);
  task_ = given;
  model_ = &model;
  ordered_ = now;
  ++sequence_;
  parts_ = 0;
  bytes_ = 0;
  invalid_.clear();
}

void WorkerSlot::order(Channel& to) {
  const std::lock_guard lock(mutex_);
  if (!task_) return;  // it has gone meanwhile
  wire::Head head;
  wire::Order& order = *head.mutable_order();
  order.set_sequence(sequence_);
  for (const auto& part : task_->parts) {
    wire::Step& step = *order.add_steps();
    step.mutable_rows()->Add(part.slice.rows.begin(), part.slice.rows.end());
    step.set_number(part.step.number);
    step.set_learning_rate(part.step.learning_rate);
  }
  if (ServedShard* served = model_->served()) return push_pull_.order(*served, head, to);
  model_->grant(index_, generation, sequence_);
  to.send(message_of(head));
}

bool WorkerSlot::expects(const wire::Push& push) {
  const std::lock_guard lock(mutex_);
  return task_ && !push_pull_.coming() && push.sequence() == sequence_ &&
         push.generation() == generation && push_.sequence() != sequence_;
}

std::optional<Arrival> WorkerSlot::begin_push(const wire::Push& push, Seconds now) {
  const std::lock_guard lock(mutex_);
  push_ = push;
  if (ServedShard* served = model_->served()) {
    if (!push_pull_.begin(*served, push.push())) return std::nullopt;
    return arrival(now);
  }
  return when_all_have_it(now);
}

std::optional<Arrival> WorkerSlot::take_chunk(const wire::Chunk& chunk, const Message& message,
                                              Seconds now) {
  const std::lock_guard lock(mutex_);
  if (!push_pull_.coming() || chunk.sequence() != sequence_) return std::nullopt;  // it was refused
  if (!push_pull_.feed(chunk, message)) return std::nullopt;
  return arrival(now);
}

std::optional<Arrival> WorkerSlot::take_part(const wire::Pushed& part, Seconds now) {
  const std::lock_guard lock(mutex_);
  if (!task_ || part.sequence() != sequence_ || part.generation() != generation) {
    return std::nullopt;
  }
  ++parts_;
  bytes_ += part.bytes();
  if (!part.invalid().empty()) invalid_ = part.invalid();
  return when_all_have_it(now);
}

std::optional<Arrival> WorkerSlot::when_all_have_it(Seconds now) {
  if (parts_ < model_->servers() || push_.sequence() != sequence_) return std::nullopt;
  if (!invalid_.empty()) {
    model_->reject(index_);  // by the servers whose part was good
    throw Error(invalid_);
  }
  return arrival(now);
}

Arrival WorkerSlot::mark_invalid(const std::string& why, Seconds now) {
  const std::lock_guard lock(mutex_);
  push_pull_.drop();
  Arrival invalid = arrival(now);
  invalid.invalid = why;
  return invalid;
}

std::optional<Task> WorkerSlot::abandon() {
  const std::lock_guard lock(mutex_);
  push_pull_.drop();
  push_.Clear();
  model_ = nullptr;
  return std::exchange(task_, std::nullopt);
}

Arrival WorkerSlot::arrival(Seconds now) {
  Arrival arrival;
  arrival.loss_sum = push_.loss_sum();
  arrival.spent.begin = ordered_;
  arrival.spent.compute = push_.compute();
  arrival.spent.transfer = now - ordered_ - push_.compute();
  arrival.spent.end = now;
  arrival.spent.bytes = bytes_ + push_pull_.bytes();
  arrival.task = std::move(*task_);
  task_.reset();
  return arrival;
}

}  // namespace evener
