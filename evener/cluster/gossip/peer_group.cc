#include "evener/cluster/gossip/peer_group.h"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/gossip/peer_checks.h"
#include "evener/cluster/gossip/peer_connection.h"
#include "evener/cluster/membership/reconnect.h"
#include "evener/cluster/transport/inbox.h"

namespace evener {

PeerGroup::PeerGroup(const GossipPeerOptions& options, const GossipWork& work,
                     const ModelUpdateLayout& layout, std::vector<std::uint64_t>& steps,
                     Callbacks callbacks)
    : options_(options),
      work_(work),
      steps_(steps),
      callbacks_(std::move(callbacks)),
      others_(options.addresses.size()),
      incarnation_(std::random_device{}()) {
  const std::string& own = options.addresses.at(static_cast<std::size_t>(options.self));
  listener_ = options.transport->listen(
      options.listen.empty() ? own : options.listen,
      [this, &layout](std::shared_ptr<Channel> channel) {
        return std::make_shared<PeerConnection>(
            std::move(channel), events_, layout, [this](const wire::Head& head) {
              return head.has_join_request() ? why_refused(head.join_request(), options_)
                                             : why_refused(head.peer_hello(), options_, work_);
            });
      });
}

PeerGroup::~PeerGroup() {
  for (auto& other : others_) other.channel.reset();
  listener_.reset();
}

int PeerGroup::joined() const {
  return static_cast<int>(std::count_if(others_.begin(), others_.end(),
                                        [](const PeerState& other) { return other.joined; }));
}

bool PeerGroup::complete() const {
  const PeerState* self = &others_[static_cast<std::size_t>(options_.self)];
  return std::all_of(others_.begin(), others_.end(), [&](const PeerState& other) {
    return &other == self ||
           (other.joined && static_cast<int>(other.peer_heartbeat.sees()) == count() - 1);
  });
}

void PeerGroup::poll(Seconds wait) {
  connect_missing();
  beat();
  for (auto event = events_.get_within(wait); event; event = events_.get_within(0)) take(*event);
  for (int i = 0; i < count(); ++i) {
    const PeerState& other = at(i);
    if (!other.joined) continue;
    const Seconds most =
        (other.broken ? std::min(kBroken, options_.silence) : options_.silence) + allowance(other);
    if (now() - other.heard < most) continue;
    // A peer that has sent its final model may leave without a message.
    const Seconds silence = now() - other.heard;
    lose(i, false, other.final_model ? "" : fmt::format(": no heartbeat for {:.0f} s", silence));
  }
}

void PeerGroup::lose(int peer, bool for_good, const std::string& how) {
  at(peer).joined = false;
  callbacks_.left(peer, for_good);
  if (!how.empty()) options_.say(fmt::format("peer {}{}", peer, how));
}

void PeerGroup::leave(const std::string& why) {
  left_ = true;
  wire::Head head;
  head.mutable_leave()->set_why(why);
  for (auto& other : others_) {
    if (other.channel) other.channel->send(message_of(head));
  }
}

void PeerGroup::has_trained() {
  if (trained_++ == 0) begun_ = now();
}

void PeerGroup::has_all() {
  if (std::exchange(has_all_, true)) return;
  last_beat_ = -1;
  beat();
}

void PeerGroup::was_busy(Seconds seconds) {
  busy_ = std::max(busy_, seconds);
}

void PeerGroup::connect_missing() {
  if (left_) return;
  for (int i = 0; i < count(); ++i) {
    PeerState& other = at(i);
    if (i == options_.self || other.channel || now() < other.retry_at) continue;
    // At the start all peers wait for each other.
    other.retry_at = now() + (busy_ == 0 ? kPause / 5 : kPause);
    other.channel = options_.transport->connect(options_.addresses[static_cast<std::size_t>(i)],
                                                std::make_shared<PeerLink>(events_, i));
    other.channel->send(message_of(hello_of(options_, work_, incarnation_, now())));
    send_heartbeat(other);
  }
}

void PeerGroup::beat() {
  if (left_ || now() - last_beat_ < kHeartbeat) return;
  last_beat_ = now();
  for (auto& other : others_) send_heartbeat(other);
}

void PeerGroup::send_heartbeat(PeerState& other) {
  if (!other.channel) return;
  wire::Head head;
  wire::PeerHeartbeat& peer_heartbeat = *head.mutable_peer_heartbeat();
  peer_heartbeat.set_sees(static_cast<std::uint32_t>(joined()));
  peer_heartbeat.set_busy(busy_);
  peer_heartbeat.set_trained(trained_);
  if (trained_ > 0) peer_heartbeat.set_training(now() - begun_);
  peer_heartbeat.set_has_all(has_all_);
  for (const std::uint64_t steps : steps_) peer_heartbeat.add_steps(steps);
  other.channel->send(message_of(head));
}

void PeerGroup::take(PeerEvent& event) {
  if (event.kind == PeerEvent::Kind::join_request) return send_job(event);
  if (event.from < 0 || event.from >= count() || event.from == options_.self) return;
  PeerState& other = at(event.from);
  switch (event.kind) {
    case PeerEvent::Kind::link_down:
      if (!other.channel) return;  // this peer has closed it
      if (other.refused == 0) note_failed_link(event);
      other.channel.reset();
      other.final_model_sent = false;
      other.broken = other.cut = true;
      return;
    case PeerEvent::Kind::refusal:
      return refuse(event, event.why);
    case PeerEvent::Kind::refused_there:
      // It may take an earlier process of this rank, which was just killed, for alive. What was
      // sent over this connection is lost.
      other.channel.reset();
      other.retry_at = now() + kHelloAgain;
      other.final_model_sent = false;
      other.cut = true;
      if (event.why.empty()) return;
      other.refuses = event.why;
      return check_refusals();
    case PeerEvent::Kind::peer_hello:
      return accept_hello(event);
    case PeerEvent::Kind::leave:
      if (event.incarnation != other.incarnation) return;
      other.left = true;
      if (other.joined) lose(event.from, true, " has left: " + event.why);
      return;
    case PeerEvent::Kind::peer_heartbeat:
    case PeerEvent::Kind::message:
    case PeerEvent::Kind::part_of_message:
    case PeerEvent::Kind::join_request:
      break;
  }
  if (event.incarnation != other.incarnation) return;  // refused, or an earlier process
  if (other.left) return;  // it only completes exchanges that others have begun
  if (!other.joined) readmit(event.from);
  other.heard = now();
  other.broken = false;
  if (event.kind == PeerEvent::Kind::peer_heartbeat) other.peer_heartbeat = event.peer_heartbeat;
  // A peer counts its own steps. After a restart it learns its earlier count from the others.
  for (std::size_t i = 0; i < std::min(event.steps.size(), steps_.size()); ++i) {
    steps_[i] = std::max(steps_[i], event.steps[i]);
  }
  if (event.kind == PeerEvent::Kind::message && !left_) callbacks_.message(event, other);
}

/// One with a known cause is more useful than a peer that has not started.
void PeerGroup::note_failed_link(const PeerEvent& event) {
  const bool known = is_certificate_problem(event.why);
  if (cause_known_ && !known) return;
  cause_known_ = known;
  why_alone_ = fmt::format("peer {}: {}", event.from, with_hint(event.why));
}

void PeerGroup::accept_hello(const PeerEvent& event) {
  PeerState& other = at(event.from);
  const bool alive = other.joined && !other.broken && now() - other.heard < kBroken;
  if (alive && other.incarnation != event.incarnation) {
    return refuse(event,
                  fmt::format("the slot of peer {} is taken: give another --rank", event.from));
  }
  other.refuses.clear();
  // A peer that was restarted does not have earlier messages.
  if (other.incarnation != event.peer_hello.incarnation()) {
    callbacks_.left(event.from, true);
    other.offer_sequence = other.answered_sequence = 0;
    other.peer_heartbeat.Clear();
    other.final_model.reset();
    options_.say(fmt::format("peer {} is there", event.from));
    other.incarnation = event.peer_hello.incarnation();
    other.joined = true;
    other.left = false;
    callbacks_.joined(event.from);
  } else {
    if (!other.joined) readmit(event.from);
    other.cut = true;
  }
  other.heard = now();
  other.broken = false;
  last_beat_ = -1;  // the next heartbeat reports this and is sent at once
}

/// Reported once, however often the peer tries.
void PeerGroup::refuse(const PeerEvent& event, const std::string& why) {
  wire::Head head;
  head.mutable_refusal()->set_why(why);
  head.mutable_refusal()->set_later(event.peer_hello.age() >
                                    now());  // the younger process has to leave
  event.channel->send(message_of(head));
  PeerState& other = at(event.from);
  if (std::exchange(other.refused, event.incarnation) == event.incarnation) return;
  const std::string said = fmt::format("peer {} was refused: {}", event.from, why);
  if (joined() == 0) why_alone_ = said;
  if (refusals_.allows(said, now())) options_.say(said);
}

/// A peer that all others refuse does not wait for them. Where another peer is connected, a refusal
/// does not matter: the refusing peer may be the one with the wrong configuration.
void PeerGroup::check_refusals() const {
  if (left_ || joined() > 0) return;
  const PeerState* one = nullptr;
  for (const auto& other : others_) {
    if (&other == &others_[static_cast<std::size_t>(options_.self)]) continue;
    if (other.refuses.empty()) return;
    one = &other;
  }
  throw Error(fmt::format("peer {} refuses this one: {}", one - others_.data(), one->refuses));
}

/// A lost peer has sent a message.
void PeerGroup::readmit(int peer) {
  at(peer).joined = true;
  callbacks_.joined(peer);
  options_.say(fmt::format("peer {} is back", peer));
}

void PeerGroup::send_job(const PeerEvent& event) {
  wire::Head head;
  if (const std::string why = why_refused(event.join_request, options_); !why.empty()) {
    head.mutable_refusal()->set_why(why);
  } else if (event.from == options_.self || (at(event.from).joined && !at(event.from).broken)) {
    head.mutable_refusal()->set_why(
        fmt::format("the slot of peer {} is taken: give another --rank", event.from));
    head.mutable_refusal()->set_later(true);  // it may have just died
  } else {
    Job job{work_.options, work_.data, work_.batch};
    job.options.insert(work_.data_options.begin(), work_.data_options.end());
    set_job(job, *head.mutable_welcome());
  }
  event.channel->send(message_of(head));
}

}  // namespace evener
