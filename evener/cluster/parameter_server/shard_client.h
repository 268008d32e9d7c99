// A worker's access to one shard of the model: it pulls the shard and pushes what it changed. A
// shard server holds the shard, or the coordinator where it holds the whole model.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/wire.h"
#include "evener/runtime/parameter_store.h"

namespace evener {

class ShardClient {
 public:
  ShardClient(std::shared_ptr<Channel> channel, const Shard& shard, const Compression& pushes)
      : channel_(std::move(channel)),
        shard_(shard),
        pull_format_(shard, {}),
        push_format_(shard, pushes) {}

  // A pull arrives. `model`: the whole vector, into which it is written.
  void begin(const wire::Order& order, std::span<float> model) {
    sequence_ = order.sequence();
    pull_.applied = order.applied();
    const ModelUpdateHeader header = header_of(order.pull());
    pull_.whole = header.whole();
    reader_.emplace(pull_format_, header, model);
  }
  void feed(const wire::Chunk& chunk, const Message& message) {
    if (reader_ && chunk.sequence() == sequence_) reader_->feed(chunk.offset(), message);
  }
  /// Whether the pull of this order is complete.
  bool has(std::uint64_t sequence) const {
    return sequence_ == sequence && reader_ && reader_->complete();
  }
  /// Adds the pull to those of the other shards.
  void add_to(Pull& all) {
    all.applied = pull_.applied;  // the same for all shards
    all.whole = all.whole || pull_.whole;
    for (const std::uint32_t row : reader_->rows()) all.rows.push_back(row + first_row());
    reader_.reset();
  }

  /// Pushes this shard's part of what changed, with this head. The rows are numbered as in the
  /// whole vector.
  void push(wire::Head head, std::span<const std::uint32_t> rows, std::span<const float> values) {
    std::vector<std::uint32_t> own;
    for (const std::uint32_t row : rows) {
      if (row >= first_row() && row - first_row() < shard_.rows) own.push_back(row - first_row());
    }
    wire::Push& push = *head.mutable_push();
    set_header(push_format_.write(own, false, values, payload_.next()), *push.mutable_push());
    channel_->send(message_of(head));
    for (auto& chunk : payload_.chunks(push.sequence())) channel_->send(std::move(chunk));
  }

 private:
  std::uint32_t first_row() const { return static_cast<std::uint32_t>(shard_.row); }

  std::shared_ptr<Channel> channel_;
  Shard shard_;
  ModelUpdateFormat pull_format_, push_format_;
  std::uint64_t sequence_ = 0;
  Pull pull_;
  std::optional<ModelUpdateReader> reader_;
  PayloadBuffer payload_;
};

}  // namespace evener
