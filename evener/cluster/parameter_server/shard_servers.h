// The coordinator's side of servers that keep the model for it, a shard each. What was decided is
// told to all of them, in the same order.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/payload.h"
#include "evener/cluster/wire/wire.h"
#include "evener/core/time.h"
#include "evener/policy/decisions.h"

namespace evener {

class ShardServers {
 public:
  ShardServers(int count, Seconds beat, Seconds evict);

  int count() const { return static_cast<int>(servers_.size()); }

  // Who is there. Any thread.
  /// Its number; -1: all are there already.
  int join(std::shared_ptr<Channel> channel, const std::string& address);
  void leave(int server, const std::string& why);
  void close(int server, const std::string& why);
  int joined() const;
  /// All are there, and have room for what they were told to keep.
  bool all_keep() const;
  /// Where nodes find them, in the order of their shards.
  std::vector<std::string> addresses() const;
  /// Error where one of them was there and is gone: its shard is lost.
  void check() const;

  // The coordinator's thread, when all are there.
  /// They begin anew, with zeros.
  void keep(const Network& network, std::size_t slots, const Compression& pushes);
  // Vector 0 is the model, 1 the momentum of its moves, zeros where there is none.
  void load(int vector, std::span<const float> values);
  /// Waits for them. Error as check's.
  void fetch(int vector, std::span<float> values);
  void grant(int node, std::uint64_t generation, std::uint64_t sequence);
  void apply_pushes(const ApplyPushes& decision);
  void reject(int node);
  void forget(int node);

  // What they say; the transport's threads.
  void kept(int server);
  void fetched(int server, const wire::Fetched& fetched);
  void chunk(int server, const wire::Chunk& chunk, const Message& message);

 private:
  struct Server {
    std::shared_ptr<Channel> channel;  // null: it is not there
    std::string address;
    std::optional<PayloadFormat> format;  // of its shard, in the whole vector
    PayloadBuffer payload;
    std::unique_ptr<PayloadReader> reader;  // of a shard that is coming in
    bool keeps = false, awaited = false;
  };

  void tell(const wire::Head& head);
  void check_locked() const;

  Seconds beat_, evict_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Server> servers_;
  std::span<float> to_;  // of a fetch
  std::string lost_;     // who, and why
};

}  // namespace evener
