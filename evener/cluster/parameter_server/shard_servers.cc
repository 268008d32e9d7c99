#include "evener/cluster/parameter_server/shard_servers.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"

namespace evener {

ShardServers::ShardServers(ShardServersOptions options)
    : options_(std::move(options)), servers_(static_cast<std::size_t>(options_.count)) {}

int ShardServers::join(std::shared_ptr<Channel> channel, const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto free = std::find_if(servers_.begin(), servers_.end(),
                                 [](const Server& server) { return !server.channel; });
  if (free == servers_.end() || !lost_.empty()) return -1;
  free->channel = std::move(channel);
  free->address = address;
  changed_.notify_all();
  return static_cast<int>(free - servers_.begin());
}

void ShardServers::leave(int server, const std::string& why) {
  const std::lock_guard lock(mutex_);
  Server& left = servers_[static_cast<std::size_t>(server)];
  left.channel.reset();
  left.keeps = false;
  if (left.format) lost_ = fmt::format("server {} ({}): {}", server, left.address, why);
  changed_.notify_all();
}

int ShardServers::joined() const {
  const std::lock_guard lock(mutex_);
  return joined_locked();
}

int ShardServers::joined_locked() const {
  return static_cast<int>(std::count_if(servers_.begin(), servers_.end(),
                                        [](const Server& server) { return !!server.channel; }));
}

void ShardServers::await_all(const std::string& coordinator) {
  std::unique_lock lock(mutex_);
  if (joined_locked() == count()) return;
  options_.say(fmt::format("waiting for {} at {}",
                           count() == 1 ? "a server" : fmt::format("{} servers", count()),
                           coordinator));
  for (const Stopwatch waited; joined_locked() < count();) {
    changed_.wait_for(lock, std::chrono::milliseconds(200));
    if (options_.grace.interrupted && options_.grace.interrupted() != 0) {
      throw Error("interrupted while there were too few servers");
    }
    if (waited.elapsed() < options_.patience) continue;
    // Workers and servers may know the coordinator's host by another name.
    throw Error(
        fmt::format("{} of {} servers after {:g} s: start them with `evener server --coordinator "
                    "HOST:{}`, or wait longer with --wait-seconds",
                    joined_locked(), count(), options_.patience,
                    coordinator.substr(coordinator.rfind(':') + 1)));
  }
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

void ShardServers::send_all(const wire::Head& head) {
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
    keep.set_heartbeat(options_.heartbeats.beat);
    keep.set_evict(options_.heartbeats.evict);
    keep.set_secret(options_.secret);
    servers_[i].keeps = false;
    servers_[i].format.emplace(shards[i], Compression{});
    if (!servers_[i].channel) throw Error(fmt::format("server {} has left", i));
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
               *head.mutable_load()->mutable_update());
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
  const auto is_awaited = [](const Server& server) { return server.awaited; };
  const auto complete = [&] {
    return !lost_.empty() || std::none_of(servers_.begin(), servers_.end(), is_awaited);
  };
  // The heartbeats close the connection of a server that is silent or hangs, which ends this wait.
  AnswerDeadline deadline(options_.grace, values.size_bytes());
  while (!changed_.wait_for(lock, std::chrono::milliseconds(100), complete)) {
    if (!deadline.passed()) continue;
    const auto late = std::find_if(servers_.begin(), servers_.end(), is_awaited);
    lost_ = fmt::format("server {} ({}): it did not answer when the run was interrupted",
                        late - servers_.begin(), late->address);
  }
  to_ = {};
  check_locked();
}

void ShardServers::fetched(int server, const wire::Fetched& fetched) {
  const std::lock_guard lock(mutex_);
  Server& from = servers_[static_cast<std::size_t>(server)];
  if (!from.awaited || to_.empty()) throw Error("it sends a shard without a request");
  const ModelUpdateHeader header = header_of(fetched.update());
  if (!header.whole()) throw Error("it sends less than its shard");
  from.reader.emplace(*from.format, header, to_);
}

void ShardServers::chunk(int server, const wire::Chunk& chunk, const Message& message) {
  const std::lock_guard lock(mutex_);
  Server& from = servers_[static_cast<std::size_t>(server)];
  if (!from.reader) throw Error("it sends a shard without a request");
  from.reader->feed(chunk.offset(), message);
  if (!from.reader->complete()) return;
  from.reader.reset();
  from.awaited = false;
  changed_.notify_all();
}

void ShardServers::grant(int worker, std::uint64_t generation, std::uint64_t sequence) {
  wire::Head head;
  head.mutable_grant()->set_node(static_cast<std::uint32_t>(worker));
  head.mutable_grant()->set_generation(generation);
  head.mutable_grant()->set_sequence(sequence);
  send_all(head);
}

void ShardServers::apply_pushes(const ApplyPushes& decision) {
  wire::Head head;
  wire::ApplyPushes& apply_pushes = *head.mutable_apply_pushes();
  for (const int worker : decision.workers)
    apply_pushes.add_nodes(static_cast<std::uint32_t>(worker));
  apply_pushes.set_share(decision.share);
  apply_pushes.set_damping(decision.damping);
  apply_pushes.set_momentum(decision.momentum);
  send_all(head);
}

void ShardServers::reject(int worker) {
  wire::Head head;
  head.mutable_reject()->set_node(static_cast<std::uint32_t>(worker));
  send_all(head);
}

void ShardServers::forget(int worker) {
  wire::Head head;
  head.mutable_forget()->set_node(static_cast<std::uint32_t>(worker));
  send_all(head);
}

}  // namespace evener
