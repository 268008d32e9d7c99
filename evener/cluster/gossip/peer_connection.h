// The two connections between two peers: each peer opens one and sends on it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "evener/cluster/gossip/peer_event.h"

namespace evener {

/// A connection that another process has opened. Its messages become events.
class PeerConnection final : public Handler {
 public:
  /// Why a hello or a join request is refused; empty: it is accepted.
  using Check = std::function<std::string(const wire::Head&)>;

  /// `events` and `layout` outlive it.
  PeerConnection(std::shared_ptr<Channel> channel, PeerEventQueue& events,
                 const ModelUpdateLayout& layout, Check check)
      : channel_(std::move(channel)), events_(events), layout_(layout), check_(std::move(check)) {}

  void received(Message message) override;
  /// Does nothing: the peer may reconnect. It is lost when it stays silent.
  void ended(const std::string& /*why*/) override {}

 private:
  void hello(const wire::Head& head);
  void begin_message(const wire::GossipMessage& message);
  void feed(const wire::Chunk& chunk, const Message& message);
  void deliver(ModelUpdate update, const std::string& why);

  std::shared_ptr<Channel> channel_;
  PeerEventQueue& events_;
  const ModelUpdateLayout& layout_;
  Check check_;
  bool said_hello_ = false;
  int from_ = -1;                  // rank of the peer, if it was accepted
  std::uint64_t incarnation_ = 0;  // of the peer; 0: no hello yet
  wire::GossipMessage message_;    // that is arriving
  std::optional<ModelUpdateReader> reader_;
};

/// The connection that this peer has opened to another. The only message on it is a refusal.
class PeerLink final : public Handler {
 public:
  /// `events` outlives it.
  PeerLink(PeerEventQueue& events, int to) : events_(events), to_(to) {}
  void received(Message message) override;
  void ended(const std::string& why) override;

 private:
  PeerEventQueue& events_;
  int to_;
};

}  // namespace evener
