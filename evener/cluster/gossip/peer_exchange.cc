#include "evener/cluster/gossip/peer_exchange.h"

#include <utility>

#include "evener/cluster/gossip/peer_checks.h"

namespace evener {

namespace {

using Wire = wire::GossipMessage;

}  // namespace

PeerExchange::PeerExchange(const GossipPeerOptions& options, std::uint64_t seed,
                           PeerReplica& replica, const ModelUpdateLayout& layout,
                           GossipResult& result, PeerGroup& group)
    : options_(options),
      replica_(replica),
      layout_(layout),
      result_(result),
      group_(group),
      node_(options.self, options.rule, seed) {}

void PeerExchange::act(bool offers) {
  for (const NodeAction& action : node_.actions(group_.now(), offers)) {
    dispatch(
        action,
        [&](const NodeOffers& a) {
          if (!a.again) offered_[a.to] = replica_.offer();
          send(a.to, Wire::OFFER, a.sequence, offered_[a.to]);
          group_.at(a.to).cut = !group_.at(a.to).channel;
        },
        [&](const NodeAnswers& a) {
          PeerState& other = group_.at(a.to);
          if (!a.again) {
            exchange([&] { other.answered = replica_.answer(other.offer); });
            other.answered_sequence = a.sequence;
          }
          other.offer = {};
          send(a.to, Wire::REPLY, a.sequence, other.answered);
        },
        [&](const NodeDeclines& a) { send(a.to, Wire::DECLINE, a.sequence, {}); },
        [&](const NodeCompletes& a) {
          PeerState& other = group_.at(a.from);
          exchange([&] { replica_.complete_exchange(offered_[a.from], other.reply); });
          offered_.erase(a.from);
          other.reply = {};
        });
  }
  // Messages are lost only with a connection.
  const auto again = node_.remind();
  if (!again) return;
  PeerState& other = group_.at(again->to);
  if (other.channel && std::exchange(other.cut, false)) {
    send(again->to, Wire::OFFER, again->sequence, offered_[again->to]);
  }
}

bool PeerExchange::must_wait() {
  const auto offer = node_.remind();
  // Do not wait for a peer whose process has ended: it takes seconds until it is considered lost.
  return !node_.may_train() && offer && !group_.at(offer->to).broken;
}

void PeerExchange::peer_left(int peer, bool for_good) {
  if (!for_good) return node_.disconnected(peer);
  node_.forget(peer);
  take_back(peer);
}

void PeerExchange::take_back(int peer) {
  const auto offered = offered_.find(peer);
  if (offered == offered_.end()) return;
  if (options_.rule.push_sum && !closing_) replica_.answer(offered->second);
  offered_.erase(offered);
}

template <class F>
void PeerExchange::exchange(F work) {
  const Seconds begin = group_.now();
  work();
  result_.timeline.add_merge(begin, group_.now());
  result_.timeline.add_completed_exchange(options_.self);
  ++result_.exchanges;
  if (const auto distance = replica_.exchange_distance()) {
    ++result_.measured;
    result_.squared_distance += *distance * *distance;
  }
}

void PeerExchange::send(int peer, Wire::Kind kind, std::uint64_t sequence,
                        const ModelUpdate& update) {
  const auto& channel = group_.at(peer).channel;
  if (!channel) return;  // the message is lost and will be sent again
  wire::Head head;
  wire::GossipMessage& message = *head.mutable_gossip_message();
  message.set_kind(kind);
  message.set_sequence(sequence);
  message.set_weight(update.weight);
  for (const std::uint64_t steps : result_.steps) message.add_steps(steps);
  auto bytes = std::make_shared<std::vector<std::byte>>();
  set_header(write_update(update, *bytes), *message.mutable_update());
  channel->send(message_of(head));
  for (auto& chunk : chunks_of(bytes, sequence)) channel->send(std::move(chunk));
  result_.sent += bytes->size();
  if (!bytes->empty()) result_.whole += layout_.size() * sizeof(float);
  result_.timeline.add_message(options_.self, bytes->size());
}

void PeerExchange::notify_policy(GossipMessage::Kind kind, const PeerEvent& event) {
  node_.receive({kind, event.from, options_.self, event.message.sequence()});
}

void PeerExchange::take_message(PeerEvent& event, PeerState& other) {
  const std::uint64_t sequence = event.message.sequence();
  result_.received += event.update.bytes();
  result_.timeline.add_message(options_.self, event.update.bytes());
  if (event.why.empty()) event.why = why_unusable(event, layout_, options_.rule.push_sum);
  if (!event.why.empty()) {
    ++result_.refused;
    if (event.message.kind() == Wire::OFFER) return send(event.from, Wire::DECLINE, sequence, {});
    event.update = {};  // the sender does not send another
    if (event.message.kind() == Wire::REPLY) event.message.set_kind(Wire::DECLINE);
  }
  switch (event.message.kind()) {
    case Wire::OFFER:
      return take_offer(event, other);
    case Wire::REPLY:
      return take_reply(event, other);
    case Wire::DECLINE:
      ++result_.declined;
      result_.timeline.add_reject(options_.self);
      if (node_.waits_for(event.from, sequence)) take_back(event.from);
      return notify_policy(GossipMessage::Kind::decline, event);
    case Wire::ASK:
      return send(event.from, Wire::MODEL, sequence, replica_.whole());
    case Wire::MODEL:
      other.fetched_model = std::move(event.update);
      return;
    case Wire::FINAL:
      other.final_model = std::move(event.update);
      return;
    default:
      return;
  }
}

void PeerExchange::take_offer(PeerEvent& event, PeerState& other) {
  const std::uint64_t sequence = event.message.sequence();
  if (closing_ && sequence == other.answered_sequence) {
    return send(event.from, Wire::REPLY, sequence, other.answered);
  }
  if (closing_) return send(event.from, Wire::DECLINE, sequence, {});
  if (sequence < other.offer_sequence) return;  // an old offer
  other.offer = std::move(event.update);
  other.offer_sequence = sequence;
  notify_policy(GossipMessage::Kind::offer, event);
}

void PeerExchange::take_reply(PeerEvent& event, PeerState& other) {
  if (!node_.waits_for(event.from, event.message.sequence())) return;
  if (!options_.rule.push_sum && event.update.values.size() != offered_[event.from].values.size()) {
    return;
  }
  other.reply = std::move(event.update);
  notify_policy(GossipMessage::Kind::reply, event);
}

}  // namespace evener
