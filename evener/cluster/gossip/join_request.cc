#include "evener/cluster/gossip/join_request.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "evener/cluster/gossip/peer_checks.h"
#include "evener/cluster/membership/reconnect.h"
#include "evener/cluster/transport/inbox.h"
#include "evener/cluster/wire/wire.h"

namespace evener {

namespace {

// By then the peers have detected a peer that has just failed.
constexpr Seconds kSoon = 2;

struct PeerQuery {
  std::shared_ptr<Channel> channel;  // null: the request has to be sent
  Seconds retry_at = 0;
};

Message request_of(const GossipPeerOptions& options) {
  wire::Head head;
  wire::JoinRequest& join_request = *head.mutable_join_request();
  join_request.set_protocol(kProtocol);
  join_request.set_token(options.token);
  join_request.set_rank(static_cast<std::uint32_t>(options.self));
  join_request.set_peers(static_cast<std::uint32_t>(options.addresses.size()));
  join_request.set_list(checksum_of(options.addresses));
  return message_of(head);
}

}  // namespace

Job ask_peers(const GossipPeerOptions& given) {
  const GossipPeerOptions options = with_transport(given);
  ChannelEvents queue;
  // This process's own address too: a process that answers there has the slot.
  std::vector<PeerQuery> queries(options.addresses.size());
  std::string why = "no peer has answered yet";
  bool reported = false, known = false;
  for (const Stopwatch clock; clock.elapsed() < options.patience;) {
    for (std::size_t i = 0; i < queries.size(); ++i) {
      if (queries[i].channel || clock.elapsed() < queries[i].retry_at) continue;
      queries[i].retry_at = clock.elapsed() + kPause;
      queries[i].channel = options.transport->connect(
          options.addresses[i], std::make_shared<Inbox>(queue, static_cast<int>(i)));
      queries[i].channel->send(request_of(options));
    }
    const auto event = queue.get_within(kLook);
    if (!event) continue;
    if (const std::string* end = event->end()) {
      queries[static_cast<std::size_t>(event->from)].channel.reset();
      if (event->from == options.self) continue;
      if (!known || is_certificate_problem(*end)) {
        known = is_certificate_problem(*end);
        why = fmt::format("peer {}: {}", event->from, with_hint(*end));
      }
      if (clock.elapsed() > kSoon && !std::exchange(reported, true)) {
        options.say(why + "; asking all of --peers again");
      }
      continue;
    }
    const wire::Head head = head_of(event->message());
    if (head.has_refusal() && head.refusal().later() && clock.elapsed() < kSoon) {
      PeerQuery& query = queries[static_cast<std::size_t>(event->from)];
      why = fmt::format("peer {}: {}", event->from, head.refusal().why());
      query.channel.reset();
      query.retry_at = clock.elapsed() + kPause;
      continue;
    }
    if (head.has_refusal()) {
      throw Error(fmt::format("peer {} refuses this one: {}", event->from, head.refusal().why()));
    }
    if (head.has_welcome()) return job_of(head.welcome());
  }
  // Waiting does not help where the cause is known.
  if (known) throw Error(fmt::format("no peer has answered for {:g} s: {}", options.patience, why));
  throw Error(fmt::format(
      "no peer has answered for {:g} s, and this one names no data or recipe of its own: start the "
      "first ones with `evener train DATA --peers ...`, or wait longer with --wait-seconds ({})",
      options.patience, why));
}

}  // namespace evener
