#include "evener/cluster/place.h"

#include <utility>

namespace evener {

void Place::assign(const Task& given, Seconds now, NodeModel& model) {
  const std::lock_guard lock(mutex_);
  task_ = given;
  model_ = &model;
  ordered_ = now;
  ++sequence_;
  parts_ = 0;
  bytes_ = 0;
  spoiled_.clear();
}

void Place::order(Channel& to) {
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
  if (ServedShard* served = model_->served()) return exchange_.order(*served, head, to);
  model_->grant(index_, generation, sequence_);
  to.send(message_of(head));
}

bool Place::expects(const wire::Push& push) {
  const std::lock_guard lock(mutex_);
  return task_ && !exchange_.coming() && push.sequence() == sequence_ &&
         push.generation() == generation && push_.sequence() != sequence_;
}

std::optional<Arrival> Place::begin_push(const wire::Push& push, Seconds now) {
  const std::lock_guard lock(mutex_);
  push_ = push;
  if (ServedShard* served = model_->served()) {
    if (!exchange_.begin(*served, push.push())) return std::nullopt;
    return arrival(now);
  }
  return when_all_have_it(now);
}

std::optional<Arrival> Place::take_chunk(const wire::Chunk& chunk, const Message& message,
                                         Seconds now) {
  const std::lock_guard lock(mutex_);
  if (!exchange_.coming() || chunk.sequence() != sequence_) return std::nullopt;  // it was refused
  if (!exchange_.feed(chunk, message)) return std::nullopt;
  return arrival(now);
}

std::optional<Arrival> Place::take_part(const wire::Pushed& part, Seconds now) {
  const std::lock_guard lock(mutex_);
  if (!task_ || part.sequence() != sequence_ || part.generation() != generation) {
    return std::nullopt;
  }
  ++parts_;
  bytes_ += part.bytes();
  if (!part.spoiled().empty()) spoiled_ = part.spoiled();
  return when_all_have_it(now);
}

std::optional<Arrival> Place::when_all_have_it(Seconds now) {
  if (parts_ < model_->servers() || push_.sequence() != sequence_) return std::nullopt;
  if (!spoiled_.empty()) {
    model_->reject(index_);  // by the servers whose part was good
    throw Error(spoiled_);
  }
  return arrival(now);
}

Arrival Place::spoil(const std::string& why, Seconds now) {
  const std::lock_guard lock(mutex_);
  exchange_.drop();
  Arrival spoiled = arrival(now);
  spoiled.spoiled = why;
  return spoiled;
}

std::optional<Task> Place::abandon() {
  const std::lock_guard lock(mutex_);
  exchange_.drop();
  push_.Clear();
  model_ = nullptr;
  return std::exchange(task_, std::nullopt);
}

Arrival Place::arrival(Seconds now) {
  Arrival arrival;
  arrival.loss_sum = push_.loss_sum();
  arrival.spent.begin = ordered_;
  arrival.spent.compute = push_.compute();
  arrival.spent.transfer = now - ordered_ - push_.compute();
  arrival.spent.end = now;
  arrival.spent.bytes = bytes_ + exchange_.bytes();
  arrival.task = std::move(*task_);
  task_.reset();
  return arrival;
}

}  // namespace evener
