// What one node exchanges with whoever keeps the model, or a shard of it: a pull goes out with each
// order, and a push comes in. The coordinator has one for each of its slots, and so has a server.
#pragma once

#include <memory>

#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/payload.h"
#include "evener/cluster/wire/wire.h"
#include "evener/runtime/parameter_store.h"

namespace evener {

/// A shard of a model that nodes pull from and push to.
struct ServedShard {
  ServedShard(const Shard& shard, std::size_t nodes, const Compression& pushes, int threads)
      : store(shard, nodes, threads),
        pull_format(shard.alone(), {}),
        push_format(shard.alone(), pushes) {}

  ParameterStore store;
  PayloadFormat pull_format, push_format;
};

/// One thread at a time.
class PushPullSession {
 public:
  explicit PushPullSession(int node) : node_(node) {}
  /// Sends the order, whose steps and number are there, with what the node has to know of the
  /// model.
  void order(ServedShard& from, wire::Head& head, Channel& to);

  // A push. Whether it is complete; Error where it cannot be used.
  bool begin(ServedShard& to, const wire::Payload& push);
  bool feed(const wire::Chunk& chunk, const Message& message);
  bool coming() const { return reader_ != nullptr; }
  /// Nothing of a push that is coming is used.
  void drop();

  /// Of the last pull, and of the push after it.
  std::size_t bytes() const { return pulled_bytes_ + pushed_bytes_; }

 private:
  bool finish();

  int node_;
  PayloadBuffer payload_;
  std::size_t pulled_bytes_ = 0, pushed_bytes_ = 0;
  ServedShard* to_ = nullptr;
  std::unique_ptr<PayloadReader> reader_;  // of the push that is coming in
};

}  // namespace evener
