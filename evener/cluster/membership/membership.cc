#include "evener/cluster/membership/membership.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/membership/worker_key.h"

namespace evener {

Membership::Membership(const MembershipOptions& options)
    : options_(options),
      slots_(static_cast<std::size_t>(options.slots)),
      heartbeats_(options.heartbeats),
      progress_(options.stall) {}

void Membership::connected(std::shared_ptr<Client> client, Seconds now) {
  client->connected = now;
  clients_.push_back(std::move(client));
}

bool Membership::disconnected(Client& client) {
  if (member(client) >= 0) {
    heartbeats_.forget(member(client));
    progress_.forget(member(client));
  }
  bool lost = false;
  if (client.slot >= 0) {
    Slot& slot = at(client.slot);
    slot.client = nullptr;
    lost = std::exchange(slot.joined, false);
  }
  const auto is_it = [&](const auto& other) { return other.get() == &client; };
  std::erase_if(waiting_, is_it);
  std::erase_if(clients_, is_it);
  return lost;
}

void Membership::send_all(const wire::Head& head) {
  for (const auto& client : clients_) client->channel->send(message_of(head));
}

bool Membership::accepts(Client& client, std::uint32_t protocol, const std::string& token,
                         Seconds now) {
  if (protocol != kProtocol) {
    refuse(
        client,
        fmt::format("it has version {} of the protocol, this is version {}", protocol, kProtocol),
        now);
    return false;
  }
  if (token != options_.token) {
    refuse(client, "it does not know the token", now);
    return false;
  }
  return true;
}

void Membership::refuse(Client& client, const std::string& why, Seconds now) {
  wire::Head head;
  head.mutable_refusal()->set_why(why);
  client.channel->send(message_of(head));
  if (refusals_.allows(why, now)) options_.say(fmt::format("a worker was refused: {}", why));
}

void Membership::put_off(Client& client, const std::string& why) {
  wire::Head head;
  head.mutable_refusal()->set_why(why);
  head.mutable_refusal()->set_later(true);
  client.channel->send(message_of(head));
}

void Membership::admit(const std::shared_ptr<Client>& client,
                       const std::optional<wire::Welcome>& welcome, Seconds now) {
  if (!accepts(*client, client->hello.protocol(), client->hello.token(), now)) return;
  if (client->hello.identity().empty()) return refuse(*client, "it has no identity", now);
  if (welcome) {
    give_slot(*client, *welcome, now);
  } else {
    client->channel->admit();
    waiting_.push_back(client);
  }
}

void Membership::welcome_waiting(const wire::Welcome& welcome, Seconds now) {
  for (const auto& client : std::exchange(waiting_, {})) give_slot(*client, welcome, now);
}

int Membership::free_slot(int wanted) const {
  const auto free = [&](int i) { return at(i).client == nullptr; };
  if (wanted >= 0 && wanted < options_.slots && free(wanted)) return wanted;
  for (int i = 0; i < options_.slots; ++i) {
    if (free(i)) return i;
  }
  return -1;
}

void Membership::give_slot(Client& client, wire::Welcome welcome, Seconds now) {
  // A worker that lost its connection may reconnect before the loss is detected here.
  for (const Slot& slot : slots_) {
    if (slot.client != nullptr && slot.client->hello.identity() == client.hello.identity()) {
      slot.client->channel->close("it has connected again");
      return put_off(client, "its old connection is still being closed");
    }
  }
  const int index = free_slot(client.hello.rank());
  if (index < 0) {
    return put_off(client, options_.slots == 1
                               ? "the run is full, its one slot (--workers) is taken"
                               : fmt::format("the run is full, all its {} slots (--workers) are "
                                             "taken",
                                             options_.slots));
  }
  Slot& slot = at(index);
  slot.client = &client;
  ++slot.generation;
  client.slot = index;
  client.channel->admit();
  heartbeats_.heard(index, now);
  progress_.restart(index, now);
  welcome.set_node(static_cast<std::uint32_t>(index));
  welcome.set_generation(slot.generation);
  welcome.set_heartbeat(options_.heartbeats.beat);
  welcome.set_evict(options_.heartbeats.evict);
  if (welcome.servers_size() > 0) {
    welcome.set_server_key(worker_key(options_.secret, welcome.node(), slot.generation));
  }
  wire::Head head;
  *head.mutable_welcome() = std::move(welcome);
  client.channel->send(message_of(head));
}

bool Membership::join(Client& client, const wire::Ready& ready, const DataFingerprint& data,
                      Seconds now) {
  if (client.slot < 0 || at(client.slot).joined) throw Error("it is ready without a slot");
  if (fingerprint_of(ready.data()) != data) {
    refuse(client,
           fmt::format("its data ({} rows, {} features, {} labels) is not the data of the run ({}, "
                       "{}, {})",
                       ready.data().rows(), ready.data().features(), ready.data().labels(),
                       data.rows, data.features, data.labels),
           now);
    return false;
  }
  at(client.slot).joined = true;
  progress_.restart(client.slot, now);  // it has read the data
  return true;
}

int Membership::joined() const {
  return static_cast<int>(
      std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.joined; }));
}

std::shared_ptr<Channel> Membership::channel(int slot) const {
  const Client* client = at(slot).client;
  return client == nullptr ? nullptr : client->channel;
}

int Membership::member(const Client& client) const {
  return client.server >= 0 ? options_.slots + client.server : client.slot;
}

void Membership::join_server(const Client& client, Seconds now) {
  client.channel->admit();
  heartbeats_.heard(member(client), now);
  progress_.restart(member(client), now);
  progress_.complete(member(client), now);  // it has no long first task
}

bool Membership::is_waiting(const Client& client) const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const auto& other) { return other.get() == &client; });
}

bool Membership::heard(const Client& client, std::optional<std::uint64_t> progress, Seconds now) {
  if (member(client) < 0) return false;
  // Nothing moves the deadline of a worker that is not ready: one that only sends heartbeats would
  // keep its slot for ever.
  const bool is_ready = client.server >= 0 || at(client.slot).joined;
  if (is_ready && progress) {
    progress_.heartbeat(member(client), *progress, now);
  } else if (is_ready) {
    progress_.advance(member(client), now);
  }
  const bool suspected = heartbeats_.heard(member(client), now);
  return suspected && client.slot >= 0 && at(client.slot).joined;
}

std::vector<int> Membership::beat(Seconds now) {
  // Clients that wait for a welcome get heartbeats too, because reading the data may take long.
  wire::Head head;
  head.mutable_heartbeat();
  send_all(head);
  std::vector<int> suspected;
  for (const auto& [id, verdict] : heartbeats_.check(now)) {
    const bool is_worker = id < options_.slots;
    if (verdict == Heartbeats::Verdict::suspected) {
      if (is_worker && at(id).joined) suspected.push_back(id);
      continue;
    }
    close_member(id, fmt::format("no heartbeat for {:g} s", options_.heartbeats.evict));
  }
  for (const auto& [id, pause] : progress_.check(now)) {
    close_member(id, fmt::format("it hangs: heartbeats, but no progress for {:.0f} s", pause));
  }
  for (const auto& client : clients_) {
    if (member(*client) >= 0 || is_waiting(*client)) continue;
    if (now - client->connected < options_.heartbeats.evict) continue;
    client->channel->close(fmt::format("no hello for {:g} s", options_.heartbeats.evict));
  }
  return suspected;
}

void Membership::close_member(int id, const std::string& why) {
  for (const auto& client : clients_) {
    if (member(*client) == id) client->channel->close(why);
  }
}

}  // namespace evener
