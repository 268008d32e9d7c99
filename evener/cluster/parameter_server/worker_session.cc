#include "evener/cluster/parameter_server/worker_session.h"

#include <utility>

namespace evener {

void WorkerSession::connect(std::shared_ptr<Channel> channel, std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  if (generation < generation_) throw Error("another worker has its slot now");
  if (channel_ && channel_ != channel) {
    channel_->close("the worker has connected again");
    drop_push();
  }
  channel_ = std::move(channel);
  generation_ = generation;
  send_order();
}

void WorkerSession::disconnect(const std::shared_ptr<Channel>& channel) {
  const std::lock_guard lock(mutex_);
  if (channel_ != channel) return;  // the worker has connected again
  channel_.reset();
  drop_push();
}

void WorkerSession::close(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (channel_) channel_->close(why);
}

void WorkerSession::grant(wire::Order order, std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  order_ = std::move(order);
  granted_generation_ = generation;
  unsent_ = true;
  send_order();
}

void WorkerSession::revoke() {
  const std::lock_guard lock(mutex_);
  drop_push();
  order_.Clear();
  unsent_ = false;
}

void WorkerSession::send_order() {
  if (!unsent_ || !channel_ || generation_ != granted_generation_) return;
  unsent_ = false;
  wire::Head head;
  wire::Order& order = *head.mutable_order() = order_;
  shard_.store.pull(worker_, [&](const Pull& pull, std::span<const float> values) {
    order.set_applied(pull.applied);
    set_header(shard_.pull_format.write(pull.rows, pull.whole, values, payload_.next()),
               *order.mutable_pull());
  });
  bytes_ = order.pull().bytes();
  channel_->send(message_of(head));
  for (auto& chunk : payload_.chunks(order.sequence())) channel_->send(std::move(chunk));
}

std::optional<wire::Pushed> WorkerSession::begin_push(const wire::Push& push) {
  const std::lock_guard lock(mutex_);
  if (unsent_ || reader_ || push.sequence() != order_.sequence() ||
      push.generation() != granted_generation_) {
    return std::nullopt;
  }
  try {
    reader_.emplace(shard_.push_format, header_of(push.push()), shard_.store.pushed_to(worker_));
    bytes_ += push.push().bytes();
    return report_if_complete();
  } catch (const Error& problem) {
    return report(problem.what());
  }
}

std::optional<wire::Pushed> WorkerSession::feed(const wire::Chunk& chunk, const Message& message) {
  const std::lock_guard lock(mutex_);
  if (!reader_ || chunk.sequence() != order_.sequence()) return std::nullopt;
  try {
    reader_->feed(chunk.offset(), message);
    return report_if_complete();
  } catch (const Error& problem) {
    return report(problem.what());
  }
}

std::optional<wire::Pushed> WorkerSession::report_if_complete() {
  if (!reader_->complete()) return std::nullopt;
  if (!reader_->finite()) throw Error("numbers that are not finite");
  shard_.store.push(worker_, reader_->rows());
  reader_.reset();
  return report("");
}

std::optional<wire::Pushed> WorkerSession::report(const std::string& invalid) {
  drop_push();
  wire::Pushed pushed;
  pushed.set_node(static_cast<std::uint32_t>(worker_));
  pushed.set_generation(granted_generation_);
  pushed.set_sequence(order_.sequence());
  pushed.set_bytes(bytes_);
  pushed.set_invalid(invalid);
  order_.Clear();  // one push per order
  return pushed;
}

void WorkerSession::drop_push() {
  if (!reader_) return;
  shard_.store.push(worker_, reader_->rows());
  shard_.store.reject(worker_);
  reader_.reset();
}

}  // namespace evener
