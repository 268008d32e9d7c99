#include "evener/cluster/parameter_server/shard_servers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"

namespace evener {

ShardServers::ShardServers(int count, Seconds beat, Seconds evict)
    : beat_(beat), evict_(evict), servers_(static_cast<std::size_t>(count)) {}

int ShardServers::join(std::shared_ptr<Channel> channel, const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto free = std::find_if(servers_.begin(), servers_.end(),
                                 [](const Server& server) { return !server.channel; });
  if (free == servers_.end() || !lost_.empty()) return -1;
  free->channel = std::move(channel);
  free->address = address;
  return static_cast<int>(free - servers_.begin());
}

void ShardServers::leave(int server, const std::string& why) {
  const std::lock_guard lock(mutex_);
  Server& gone = servers_[static_cast<std::size_t>(server)];
  gone.channel.reset();
  gone.keeps = false;
  if (gone.format) lost_ = fmt::format("server {} ({}): {}", server, gone.address, why);
  changed_.notify_all();
}

void ShardServers::close(int server, const std::string& why) {
  const std::lock_guard lock(mutex_);
  const auto& channel = servers_[static_cast<std::size_t>(server)].channel;
  if (channel) channel->close(why);
}

int ShardServers::joined() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::count_if(servers_.begin(), servers_.end(),
                                        [](const Server& server) { return !!server.channel; }));
}

bool ShardServers::all_keep() const {
  const std::lock_guard lock(mutex_);
  return std::all_of(servers_.begin(), servers_.end(),
                     [](const Server& server) { return server.keeps; });
}

void ShardServers::kept(int server) {
  const std::lock_guard lock(mutex_);
  servers_[static_cast<std::size_t>(server)].keeps = true;
}

std::vector<std::string> ShardServers::addresses() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> addresses;
  for (const auto& server : servers_) addresses.push_back(server.address);
  return addresses;
}

void ShardServers::check() const {
  const std::lock_guard lock(mutex_);
  check_locked();
}

void ShardServers::check_locked() const {
  if (lost_.empty()) return;
  throw Error("a shard of the model is lost: " + lost_);
}

void ShardServers::tell(const wire::Head& head) {
  const std::lock_guard lock(mutex_);
  for (auto& server : servers_) {
    if (server.channel) server.channel->send(message_of(head));
  }
}

void ShardServers::keep(const Network& network, std::size_t slots, const Compression& pushes) {
  const std::lock_guard lock(mutex_);
  check_locked();
  const std::vector<Shard> shards = shards_of(network, servers_.size());
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    wire::Head head;
    wire::Keep& keep = *head.mutable_keep();
    keep.set_rows(shards[i].rows);
    keep.set_width(shards[i].width);
    keep.set_floats(shards[i].floats);
    keep.set_slots(static_cast<std::uint32_t>(slots));
    keep.set_compression(static_cast<std::uint32_t>(pushes.kind));
    keep.set_heartbeat(beat_);
    keep.set_evict(evict_);
    servers_[i].keeps = false;
    servers_[i].format.emplace(shards[i], Compression{});
    if (!servers_[i].channel) throw Error(fmt::format("server {} has gone", i));
    servers_[i].channel->send(message_of(head));
  }
}

void ShardServers::load(int vector, std::span<const float> values) {
  const std::lock_guard lock(mutex_);
  check_locked();
  for (auto& server : servers_) {
    wire::Head head;
    head.mutable_load()->set_vector(static_cast<std::uint32_t>(vector));
    set_header(server.format->write({}, true, values, server.payload.next()),
               *head.mutable_load()->mutable_payload());
    server.channel->send(message_of(head));
    for (auto& chunk : server.payload.chunks(0)) server.channel->send(std::move(chunk));
  }
}

void ShardServers::fetch(int vector, std::span<float> values) {
  std::unique_lock lock(mutex_);
  check_locked();
  to_ = values;
  wire::Head head;
  head.mutable_fetch()->set_vector(static_cast<std::uint32_t>(vector));
  for (auto& server : servers_) {
    server.awaited = true;
    server.channel->send(message_of(head));
  }
  // A server that is silent is closed by the heartbeats, which ends this wait.
  changed_.wait(lock, [this] {
    return !lost_.empty() || std::none_of(servers_.begin(), servers_.end(),
                                          [](const Server& server) { return server.awaited; });
  });
  to_ = {};
  check_locked();
}

void ShardServers::fetched(int server, const wire::Fetched& fetched) {
  const std::lock_guard lock(mutex_);
  Server& from = servers_[static_cast<std::size_t>(server)];
  if (!from.awaited || to_.empty()) throw Error("it sends a shard that nobody asked for");
  from.reader = std::make_unique<PayloadReader>(*from.format, header_of(fetched.payload()), to_);
  if (!fetched.payload().whole()) throw Error("it sends less than its shard");
}

void ShardServers::chunk(int server, const wire::Chunk& chunk, const Message& message) {
  const std::lock_guard lock(mutex_);
  Server& from = servers_[static_cast<std::size_t>(server)];
  if (!from.reader) throw Error("it sends a shard that nobody asked for");
  from.reader->feed(chunk.offset(), message);
  if (!from.reader->complete()) return;
  from.reader.reset();
  from.awaited = false;
  changed_.notify_all();
}

void ShardServers::grant(int node, std::uint64_t generation, std::uint64_t sequence) {
  wire::Head head;
  head.mutable_grant()->set_node(static_cast<std::uint32_t>(node));
  head.mutable_grant()->set_generation(generation);
  head.mutable_grant()->set_sequence(sequence);
  tell(head);
}

void ShardServers::apply_pushes(const ApplyPushes& decision) {
  wire::Head head;
  wire::ApplyPushes& apply_pushes = *head.mutable_apply_pushes();
  for (const int node : decision.workers) apply_pushes.add_nodes(static_cast<std::uint32_t>(node));
  apply_pushes.set_share(decision.share);
  apply_pushes.set_damping(decision.damping);
  apply_pushes.set_momentum(decision.momentum);
  tell(head);
}

void ShardServers::reject(int node) {
  wire::Head head;
  head.mutable_reject()->set_node(static_cast<std::uint32_t>(node));
  tell(head);
}

void ShardServers::forget(int node) {
  wire::Head head;
  head.mutable_forget()->set_node(static_cast<std::uint32_t>(node));
  tell(head);
}

}  // namespace evener
