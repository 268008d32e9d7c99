// One worker's session with a shard of the model: each order sends a pull and accepts one push.
// Only ShardHost uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/wire.h"
#include "evener/runtime/parameter_store.h"

namespace evener {

/// A shard of a model that workers pull from and push to.
struct ServedShard {
  ServedShard(const Shard& shard, std::size_t workers, const Compression& pushes, int threads)
      : store(shard, workers, threads),
        pull_format(shard.alone(), {}),
        push_format(shard.alone(), pushes) {}

  ParameterStore store;
  ModelUpdateFormat pull_format, push_format;
};

/// Thread-safe.
class WorkerSession {
 public:
  /// `shard` outlives it.
  WorkerSession(int worker, ServedShard& shard) : worker_(worker), shard_(shard) {}

  /// The worker's connection before this one is closed. Error if a later worker has the slot.
  void connect(std::shared_ptr<Channel> channel, std::uint64_t generation);
  /// An incomplete push is dropped.
  void disconnect(const std::shared_ptr<Channel>& channel);
  void close(const std::string& why);

  /// Sends the worker this order with the current shard, and accepts one push for it. If the worker
  /// is not connected yet, the order is sent when it connects.
  void grant(wire::Order order, std::uint64_t generation);
  /// Pushes of the worker are ignored until the next grant.
  void revoke();
  /// What another thread wrote into the shard's push is visible to the caller after this.
  void synchronize() { const std::lock_guard lock(mutex_); }

  // Return a report when the push is complete or invalid. A push that was not granted, or that was
  // received before, is ignored.
  std::optional<wire::Pushed> begin_push(const wire::Push& push);
  std::optional<wire::Pushed> feed(const wire::Chunk& chunk, const Message& message);

 private:
  void send_order();
  std::optional<wire::Pushed> report(const std::string& invalid);
  std::optional<wire::Pushed> report_if_complete();
  void drop_push();

  int worker_;
  ServedShard& shard_;
  std::mutex mutex_;
  std::shared_ptr<Channel> channel_;  // null: the worker is not connected
  std::uint64_t generation_ = 0;      // of the last worker that was connected
  wire::Order order_;                 // that was granted last; its sequence is 0 after the push
  std::uint64_t granted_generation_ = 0;
  bool unsent_ = false;  // the order has not been sent
  PayloadBuffer payload_;
  std::size_t bytes_ = 0;                    // of the pull and of the push after it
  std::optional<ModelUpdateReader> reader_;  // of the push that is arriving
};

}  // namespace evener
