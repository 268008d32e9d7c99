// Which processes are connected to a coordinator, which worker has which slot, and which members
// are evicted for their silence. It does not know the model or tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evener/cluster/membership/heartbeats.h"
#include "evener/cluster/membership/line_limit.h"
#include "evener/cluster/membership/progress_watch.h"
#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/wire.h"

namespace evener {

/// A process that is connected to the coordinator: a worker, a shard server, or one that has not
/// sent its hello yet.
struct Client {
  std::shared_ptr<Channel> channel;
  wire::Hello hello;
  int slot = -1;          // of a worker; -1: none
  int server = -1;        // number of a shard server; -1: it is none
  bool left = false;      // it sent a leave message
  Seconds connected = 0;  // when
};

struct MembershipOptions {
  std::string token;
  std::string secret;  // that the shard servers have: worker_key.h
  int slots = 1;
  HeartbeatLimits heartbeats;
  StallLimits stall;
  std::function<void(const std::string&)> say;
};

/// Not thread-safe: the caller holds its lock.
class Membership {
 public:
  explicit Membership(const MembershipOptions& options);

  void connected(std::shared_ptr<Client> client, Seconds now);
  /// Frees the client's slot. Returns whether the client was a worker that had joined.
  bool disconnected(Client& client);
  bool empty() const { return clients_.empty(); }
  void send_all(const wire::Head& head);

  /// Whether the client has the same protocol version and the token. Otherwise it is refused.
  bool accepts(Client& client, std::uint32_t protocol, const std::string& token, Seconds now);
  void refuse(Client& client, const std::string& why, Seconds now);
  /// Refuses the client for now. It may try again later.
  void put_off(Client& client, const std::string& why);

  /// A worker has sent its hello. It gets a slot, or waits for `welcome_waiting` where there is no
  /// welcome yet.
  void admit(const std::shared_ptr<Client>& client, const std::optional<wire::Welcome>& welcome,
             Seconds now);
  void welcome_waiting(const wire::Welcome& welcome, Seconds now);
  /// A worker is ready. Returns whether it has joined. It is refused if its data is not the data of
  /// the run.
  bool join(Client& client, const wire::Ready& ready, const DataFingerprint& data, Seconds now);

  int joined() const;  // workers
  bool has_joined(int slot) const { return at(slot).joined; }
  std::uint64_t generation(int slot) const { return at(slot).generation; }
  /// Null: no worker has the slot.
  std::shared_ptr<Channel> channel(int slot) const;

  /// A shard server has joined: `client.server` is its number.
  void join_server(const Client& client, Seconds now);
  /// Records a message: each one counts as a heartbeat. `progress`: of a heartbeat; any other
  /// message is progress. A worker makes none before it is ready. Returns whether the client is a
  /// joined worker that was suspected until now.
  bool heard(const Client& client, std::optional<std::uint64_t> progress, Seconds now);
  /// The worker has completed a task, so its pace is known.
  void completed(int slot, Seconds now) { progress_.complete(slot, now); }
  /// Sends a heartbeat to every client and closes the connections of those that are silent, make no
  /// progress, or do not say what they are for too long. Returns the slots of workers that are
  /// suspected from now on.
  std::vector<int> beat(Seconds now);

 private:
  struct Slot {
    Client* client = nullptr;  // null: the slot is free
    std::uint64_t generation = 0;
    bool joined = false;  // its worker is ready for tasks
  };

  const Slot& at(int slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  Slot& at(int slot) { return slots_[static_cast<std::size_t>(slot)]; }
  void give_slot(Client& client, wire::Welcome welcome, Seconds now);
  int free_slot(int wanted) const;
  /// The client's number for the heartbeats: servers are numbered after the slots. -1: none.
  int member(const Client& client) const;
  bool is_waiting(const Client& client) const;
  void close_member(int id, const std::string& why);

  MembershipOptions options_;
  std::vector<Slot> slots_;
  Heartbeats heartbeats_;
  ProgressWatch progress_;
  std::vector<std::shared_ptr<Client>> clients_;
  std::vector<std::shared_ptr<Client>> waiting_;  // for a welcome
  LineLimit refusals_;
};

}  // namespace evener
