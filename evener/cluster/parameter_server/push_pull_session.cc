#include "evener/cluster/parameter_server/push_pull_session.h"

namespace evener {

void PushPullSession::order(ServedShard& from, wire::Head& head, Channel& to) {
  wire::Order& order = *head.mutable_order();
  from.store.pull(node_, [&](const Pull& pull, std::span<const float> values) {
    order.set_applied(pull.applied);
    set_header(from.pull_format.write(pull.rows, pull.whole, values, payload_.next()),
               *order.mutable_pull());
  });
  pulled_bytes_ = order.pull().bytes();
  pushed_bytes_ = 0;
  to.send(message_of(head));
  for (auto& chunk : payload_.chunks(order.sequence())) to.send(std::move(chunk));
}

bool PushPullSession::begin(ServedShard& to, const wire::Payload& push) {
  to_ = &to;
  reader_ =
      std::make_unique<PayloadReader>(to.push_format, header_of(push), to.store.pushed_to(node_));
  pushed_bytes_ = push.bytes();
  return finish();
}

bool PushPullSession::feed(const wire::Chunk& chunk, const Message& message) {
  reader_->feed(chunk.offset(), message);
  return finish();
}

bool PushPullSession::finish() {
  if (!reader_->complete()) return false;
  if (!reader_->finite()) throw Error("numbers that are not finite");
  to_->store.push(node_, reader_->rows());
  reader_.reset();
  return true;
}

void PushPullSession::drop() {
  if (!reader_) return;
  to_->store.push(node_, reader_->rows());
  to_->store.reject(node_);
  reader_.reset();
}

}  // namespace evener
