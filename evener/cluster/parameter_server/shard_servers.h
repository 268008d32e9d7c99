// The shard servers of a coordinator. Each holds a shard of the model. The coordinator sends the
// same decisions to all of them, in the same order.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evener/cluster/membership/heartbeats.h"
#include "evener/cluster/parameter_server/answer_deadline.h"
#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/wire.h"
#include "evener/core/time.h"
#include "evener/policy/decisions.h"

namespace evener {

struct ShardServersOptions {
  int count = 1;
  std::string secret;  // of the run: worker_key.h
  HeartbeatLimits heartbeats;
  Seconds patience = 60;  // timeout for all of them to join
  InterruptGrace grace;
  std::function<void(const std::string&)> say;
};

class ShardServers {
 public:
  explicit ShardServers(ShardServersOptions options);

  int count() const { return static_cast<int>(servers_.size()); }

  // Membership. Any thread.
  /// Returns the number of the new server; -1: all are connected already.
  int join(std::shared_ptr<Channel> channel, const std::string& address);
  void leave(int server, const std::string& why);
  int joined() const;
  /// Whether all are connected and have allocated their shards.
  bool all_keep() const;
  /// Where workers reach them, in the order of their shards.
  std::vector<std::string> addresses() const;
  /// Error if a server that held a shard was lost.
  void check() const;
  /// Waits until all are connected. Error after `patience`. `coordinator`: the address at which
  /// servers reach it.
  void await_all(const std::string& coordinator);

  // The scheduler's thread, when all are connected.
  /// Each server allocates a new shard of zeros.
  void keep(const Network& network, std::size_t slots, const Compression& pushes);
  // Vector 0 is the model, 1 the momentum of its updates, zeros where there is none.
  void load(int vector, std::span<const float> values);
  /// Waits for the answers. Error as check(), or if a server does not answer after a signal.
  void fetch(int vector, std::span<float> values);
  void grant(int worker, std::uint64_t generation, std::uint64_t sequence);
  void apply_pushes(const ApplyPushes& decision);
  void reject(int worker);
  void forget(int worker);

  // Messages of servers. The transport's threads.
  void kept(int server);
  void fetched(int server, const wire::Fetched& fetched);
  void chunk(int server, const wire::Chunk& chunk, const Message& message);

 private:
  struct Server {
    std::shared_ptr<Channel> channel;  // null: it is not connected
    std::string address;
    std::optional<ModelUpdateFormat> format;  // of its shard, in the whole vector
    PayloadBuffer payload;
    std::optional<ModelUpdateReader> reader;  // of a shard that is arriving
    bool keeps = false, awaited = false;
  };

  void send_all(const wire::Head& head);
  void check_locked() const;
  int joined_locked() const;

  ShardServersOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Server> servers_;
  std::span<float> to_;  // destination of a fetch
  std::string lost_;     // which server, and why; empty: none
};

}  // namespace evener
