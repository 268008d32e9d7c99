// What comes in from gossiping peers, taken apart by the transport's threads, and what is kept of
// each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <xxhash.h>

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/cluster/transport/inbox.h"
#include "evener/cluster/wire/model_update_format.h"
#include "evener/cluster/wire/wire.h"
#include "evener/core/finite.h"
#include "evener/runtime/model_update.h"

namespace evener {

struct PeerEvent {
  enum class Kind {
    peer_hello,
    refusal,        // of one that greets, by this one
    refused_there,  // this one, by another
    message,
    part_of_message,
    peer_heartbeat,
    leave,
    link_down,
    join_request
  };
  Kind kind = Kind::peer_heartbeat;
  int from = -1;
  std::uint64_t incarnation = 0;  // of who says it
  wire::PeerHello peer_hello{};
  wire::JoinRequest join_request{};
  std::shared_ptr<Channel> channel{};  // of who enquires or greets
  wire::GossipMessage message{};
  ModelUpdate update{};
  std::vector<std::uint64_t> steps{};
  wire::PeerHeartbeat peer_heartbeat{};
  std::string why{};  // of a refusal or a leave; of a message: not empty, it cannot be used
};
using PeerEventQueue = Mailbox<PeerEvent>;

/// Equal where both name the same addresses in the same order.
inline std::uint64_t checksum_of(const std::vector<std::string>& addresses) {
  const std::string all = fmt::format("{}", fmt::join(addresses, ","));
  return XXH3_64bits(all.data(), all.size());
}

/// What a peer says first.
inline wire::Head greeting_of(const GossipPeerOptions& options, const GossipWork& work,
                              std::uint64_t incarnation, Seconds age) {
  wire::Head head;
  wire::PeerHello& peer_hello = *head.mutable_peer_hello();
  peer_hello.set_protocol(kProtocol);
  peer_hello.set_token(options.token);
  peer_hello.set_rank(static_cast<std::uint32_t>(options.self));
  peer_hello.set_peers(static_cast<std::uint32_t>(options.addresses.size()));
  peer_hello.set_incarnation(incarnation);
  peer_hello.set_list(checksum_of(options.addresses));
  peer_hello.set_age(age);
  set_fingerprint(work.data, *peer_hello.mutable_data());
  peer_hello.mutable_options()->insert(work.options.begin(), work.options.end());
  return head;
}
/// Why one that greets or enquires is a stranger; empty: it is not.
template <class Words>
std::string why_strange(const Words& words, const GossipPeerOptions& options) {
  if (words.protocol() != kProtocol) {
    return fmt::format("it speaks version {} of the protocol, this is version {}", words.protocol(),
                       kProtocol);
  }
  if (words.token() != options.token) return "it does not know the token";
  const bool same_list =
      words.peers() == options.addresses.size() && words.list() == checksum_of(options.addresses);
  return same_list ? "" : "its list of --peers is another";
}
/// Why one that greets is not let in; empty: it is.
inline std::string why_refused(const wire::PeerHello& peer_hello, const GossipPeerOptions& options,
                               const GossipWork& work) {
  if (std::string why = why_strange(peer_hello, options); !why.empty()) return why;
  if (fingerprint_of(peer_hello.data()) != work.data) return "its data is not the data of the run";
  for (const auto& [name, text] : work.options) {
    const auto found = peer_hello.options().find(name);
    const std::string its = found == peer_hello.options().end() ? "missing" : found->second;
    if (its != text) return fmt::format("its --{} is {}, here it is {}", name, its, text);
  }
  return "";
}

/// Why a message cannot be used for what it says it is; empty: it can.
inline std::string why_useless(const PeerEvent& event, const ModelUpdateLayout& map,
                               bool push_sum) {
  using Wire = wire::GossipMessage;
  const ModelUpdate& update = event.update;
  const bool all = update.places == ModelUpdate::Places::all && update.values.size() == map.size();
  switch (event.message.kind()) {
    case Wire::OFFER:
      if (push_sum && !all) return "a part of a model, where a share of all of it is given away";
      if (update.values.empty() || update.places == ModelUpdate::Places::offered) return "no offer";
      return "";
    case Wire::REPLY:
      return push_sum || update.places == ModelUpdate::Places::offered ? "" : "no reply";
    case Wire::MODEL:
    case Wire::FINAL:
      return all ? "" : "a part of a model, where all of it is meant";
    default:
      return "";
  }
}

/// A peer that has connected to this one, and sends.
class PeerConnection final : public Handler {
 public:
  /// Why a peer_hello is refused; empty: it is not.
  using Check = std::function<std::string(const wire::PeerHello&)>;

  /// All outlive it.
  PeerConnection(std::shared_ptr<Channel> channel, PeerEventQueue& event,
                 const ModelUpdateLayout& map, Check check)
      : channel_(std::move(channel)), events_(event), map_(map), check_(std::move(check)) {}

  void received(Message message) override {
    const wire::Head head = head_of(message);
    if (head.has_peer_hello()) {
      PeerEvent event{.kind = PeerEvent::Kind::peer_hello,
                      .from = static_cast<int>(head.peer_hello().rank()),
                      .incarnation = head.peer_hello().incarnation(),
                      .peer_hello = head.peer_hello(),
                      .channel = channel_,
                      .why = check_(head.peer_hello())};
      if (!event.why.empty()) event.kind = PeerEvent::Kind::refusal;
      from_ = event.why.empty() ? event.from : -1;
      incarnation_ = event.incarnation;
      events_.put(std::move(event));
      return;
    }
    if (head.has_join_request()) {
      return events_.put({.kind = PeerEvent::Kind::join_request,
                          .from = static_cast<int>(head.join_request().rank()),
                          .join_request = head.join_request(),
                          .channel = channel_});
    }
    if (from_ < 0 && incarnation_ == 0) throw Error("it has not said who it is");
    if (from_ < 0) return;  // it was refused, and is told so
    if (head.has_peer_heartbeat()) {
      events_.put(
          {.kind = PeerEvent::Kind::peer_heartbeat,
           .from = from_,
           .incarnation = incarnation_,
           .steps = {head.peer_heartbeat().steps().begin(), head.peer_heartbeat().steps().end()},
           .peer_heartbeat = head.peer_heartbeat()});
    }
    if (head.has_leave()) {
      events_.put({.kind = PeerEvent::Kind::leave,
                   .from = from_,
                   .incarnation = incarnation_,
                   .why = head.leave().why()});
    }
    if (head.has_gossip_message()) {
      message_ = head.gossip_message();
      reader_.reset();
      if (message_.update().bytes() == 0) return deliver({}, "");
      reader_.emplace(map_, header_of(message_.update()));
    }
    if (!head.has_chunk() || !reader_) return;
    // A long message holds up the pulses behind it.
    events_.put(
        {.kind = PeerEvent::Kind::part_of_message, .from = from_, .incarnation = incarnation_});
    if (reader_->feed(head.chunk().offset(), message)) {
      ModelUpdate update = reader_->update();
      reader_.reset();
      const bool finite = all_finite(update.values);
      deliver(std::move(update), finite ? "" : "numbers that are not finite");
    }
  }
  /// It may come back; its silence tells otherwise.
  void ended(const std::string& /*why*/) override {}

 private:
  void deliver(ModelUpdate update, const std::string& why) {
    update.weight = message_.weight();
    events_.put({.kind = PeerEvent::Kind::message,
                 .from = from_,
                 .incarnation = incarnation_,
                 .message = message_,
                 .update = std::move(update),
                 .steps = {message_.steps().begin(), message_.steps().end()},
                 .why = why});
  }

  std::shared_ptr<Channel> channel_;
  PeerEventQueue& events_;
  const ModelUpdateLayout& map_;
  Check check_;
  int from_ = -1;                  // who is let in
  std::uint64_t incarnation_ = 0;  // of who has greeted
  wire::GossipMessage message_;
  std::optional<ModelUpdateReader> reader_;
};

/// The connection to a peer, which says nothing on it but that this one is refused.
class PeerLink final : public Handler {
 public:
  PeerLink(PeerEventQueue& event, int to) : events_(event), to_(to) {}
  void received(Message message) override {
    const wire::Head head = head_of(message);
    if (!head.has_refusal() || head.refusal().later()) return;
    events_.put({.kind = PeerEvent::Kind::refused_there, .from = to_, .why = head.refusal().why()});
  }
  void ended(const std::string& why) override {
    events_.put({.kind = PeerEvent::Kind::link_down, .from = to_, .why = why});
  }

 private:
  PeerEventQueue& events_;
  int to_;
};

}  // namespace evener
