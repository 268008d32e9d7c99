#include "evener/cluster/place.h"

#include <utility>

namespace evener {

void Place::assign(const Task& given, Seconds now, NodeModel& model) {
  const std::lock_guard lock(mutex_);
  task_ = given;
  model_ = &model;
  ordered_ = now;
  ++sequence_;
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
  std::vector<std::byte>& payload = payload_.next();
  const PayloadFormat& format = model_->pull_format();
  model_->store().pull(index_, [&](const Pull& pull, std::span<const float> values) {
    order.set_applied(pull.applied);
    set_header(format.header(pull.rows.size(), pull.whole), *order.mutable_pull());
    format.write(pull.rows, pull.whole, values, payload);
  });
  pulled_bytes_ = payload.size();
  to.send(message_of(head));
  for (auto& chunk : payload_.chunks(sequence_)) to.send(std::move(chunk));
}

bool Place::begin_push(const wire::Push& push, NodeModel& model) {
  const std::lock_guard lock(mutex_);
  const bool expected = task_ && !reader_ && push.sequence() == sequence_ &&
                        push.generation() == generation && push_.sequence() != sequence_;
  if (!expected) return false;
  push_ = push;
  reader_ = std::make_unique<PayloadReader>(model.push_format(), header_of(push.push()),
                                            model.store().pushed_to(index_));
  return true;
}

std::optional<Arrival> Place::take_chunk(const wire::Chunk& chunk, const Message& message,
                                         Seconds now) {
  const std::lock_guard lock(mutex_);
  if (!reader_ || chunk.sequence() != sequence_) return std::nullopt;  // of a push that was refused
  reader_->feed(chunk.offset(), message);
  if (!reader_->complete()) return std::nullopt;
  if (!reader_->finite()) throw Error("numbers that are not finite");
  model_->store().push(index_, reader_->rows());
  reader_.reset();
  return arrival(now);
}

Arrival Place::spoil(const std::string& why, Seconds now) {
  const std::lock_guard lock(mutex_);
  clear_push();
  Arrival spoiled = arrival(now);
  spoiled.spoiled = why;
  return spoiled;
}

std::optional<Task> Place::abandon() {
  const std::lock_guard lock(mutex_);
  clear_push();
  push_.Clear();
  model_ = nullptr;
  return std::exchange(task_, std::nullopt);
}

void Place::clear_push() {
  if (!reader_) return;
  model_->store().push(index_, reader_->rows());
  model_->store().reject(index_);
  reader_.reset();
}

Arrival Place::arrival(Seconds now) {
  Arrival arrival;
  arrival.loss_sum = push_.loss_sum();
  arrival.spent.begin = ordered_;
  arrival.spent.compute = push_.compute();
  arrival.spent.transfer = now - ordered_ - push_.compute();
  arrival.spent.end = now;
  arrival.spent.bytes = pulled_bytes_ + push_.push().bytes();
  arrival.task = std::move(*task_);
  task_.reset();
  return arrival;
}

}  // namespace evener
