// Where a node gets a shard of the model from and pushes what it changed of it to: a server, or the
// coordinator where that keeps all of the model.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/payload.h"
#include "evener/cluster/wire/wire.h"
#include "evener/runtime/parameter_store.h"

namespace evener {

class ShardClient {
 public:
  ShardClient(std::shared_ptr<Channel> channel, const Shard& shard, const Compression& pushes)
      : channel_(std::move(channel)), pull_format_(shard, {}), push_format_(shard, pushes) {}

  // A pull comes in, into the whole vector.
  void begin(const wire::Order& order, std::span<float> model) {
    sequence_ = order.sequence();
    pull_.applied = order.applied();
    pull_.whole = order.pull().whole();
    reader_.emplace(pull_format_, header_of(order.pull()), model);
  }
  void feed(const wire::Chunk& chunk, const Message& message) {
    if (reader_ && chunk.sequence() == sequence_) reader_->feed(chunk.offset(), message);
  }
  /// Whether all of it is there.
  bool has(std::uint64_t sequence) const {
    return sequence_ == sequence && reader_ && reader_->complete();
  }
  /// Adds it to what the other sources brought.
  void add_to(Pull& all) {
    all.applied = pull_.applied;  // the same everywhere
    all.whole = all.whole || pull_.whole;
    for (const std::uint32_t row : reader_->rows()) all.rows.push_back(row + first_row());
    reader_.reset();
  }

  /// Its part of what changed goes there, under this head. The rows are those of the whole vector.
  void push(wire::Head head, std::span<const std::uint32_t> rows, std::span<const float> values) {
    std::vector<std::uint32_t> own;
    for (const std::uint32_t row : rows) {
      if (row >= first_row() && row - first_row() < push_format_.shard().rows) {
        own.push_back(row - first_row());
      }
    }
    wire::Push& push = *head.mutable_push();
    set_header(push_format_.write(own, false, values, payload_.next()), *push.mutable_push());
    channel_->send(message_of(head));
    for (auto& chunk : payload_.chunks(push.sequence())) channel_->send(std::move(chunk));
  }

 private:
  std::uint32_t first_row() const { return static_cast<std::uint32_t>(push_format_.shard().row); }

  std::shared_ptr<Channel> channel_;
  PayloadFormat pull_format_, push_format_;
  std::uint64_t sequence_ = 0;
  Pull pull_;
  std::optional<PayloadReader> reader_;
  PayloadBuffer payload_;
};

}  // namespace evener
