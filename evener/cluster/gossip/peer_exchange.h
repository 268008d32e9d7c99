// A gossip peer's exchanges: it sends what its policy (policy/gossip_node.h) decides, handles the
// messages of other peers, and updates its model (runtime/peer_replica.h).
#pragma once

#include <cstdint>
#include <map>

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/cluster/gossip/peer_group.h"

namespace evener {

/// All calls from the peer's own thread.
class PeerExchange {
 public:
  /// All outlive it. The constructor does not use `group`.
  PeerExchange(const GossipPeerOptions& options, std::uint64_t seed, PeerReplica& replica,
               const ModelUpdateLayout& layout, GossipResult& result, PeerGroup& group);

  // For the group.
  void peer_joined(int peer) { node_.connected(peer); }
  void peer_left(int peer, bool for_good);
  void take_message(PeerEvent& event, PeerState& other);

  /// A training step has changed the model by this much.
  void trained(double change) { node_.step(change); }
  /// Between two steps: sends offers, if `offers` is true, and answers, and applies replies.
  void act(bool offers);
  /// Whether the next step has to wait for a reply.
  bool must_wait();
  /// Whether a reply is missing.
  bool waits() const { return node_.waits(); }
  /// The run is over on this peer: no new exchange begins.
  void close() { closing_ = true; }

  void send(int peer, wire::GossipMessage::Kind kind, std::uint64_t sequence,
            const ModelUpdate& update);

 private:
  void take_offer(PeerEvent& event, PeerState& other);
  void take_reply(PeerEvent& event, PeerState& other);
  /// The peer declined an offer. With push-sum this peer adds the offer's weight back to its own.
  void take_back(int peer);
  template <class F>
  void exchange(F work);
  void notify_policy(GossipMessage::Kind kind, const PeerEvent& event);

  const GossipPeerOptions& options_;
  PeerReplica& replica_;
  const ModelUpdateLayout& layout_;
  GossipResult& result_;
  PeerGroup& group_;
  GossipNode node_;
  std::map<int, ModelUpdate> offered_;  // by peer, until it answers or is lost for good
  bool closing_ = false;
};

}  // namespace evener
