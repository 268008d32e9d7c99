// A gossip peer's exchanges: sends what its policy (policy/gossip_node.h) decides, takes the
// messages of other peers, and moves its model (runtime/peer_replica.h).
#pragma once

#include <cstdint>
#include <map>

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/cluster/gossip/peer_group.h"

namespace evener {

/// All calls from the peer's own thread.
class PeerExchange {
 public:
  /// All outlive it; `group` is not used here.
  PeerExchange(const GossipPeerOptions& options, std::uint64_t seed, PeerReplica& replica,
               const ModelUpdateLayout& layout, GossipResult& result, PeerGroup& group);

  // For the group.
  void peer_joined(int peer) { node_.meet(peer); }
  void peer_left(int peer, bool for_good);
  void take_message(PeerEvent& event, PeerState& other);

  /// A step of training has changed the model by so much.
  void trained(double change) { node_.step(change); }
  /// Between two steps: sends offers, if they are wanted, and answers, and takes replies.
  void act(bool offers);
  /// Whether the next step has to wait for a reply.
  bool must_wait();
  /// Whether a reply is missing.
  bool waits() const { return node_.waits(); }
  /// The run is over here: no new exchange begins.
  void close() { closing_ = true; }

  void send(int peer, wire::GossipMessage::Kind kind, std::uint64_t sequence,
            const ModelUpdate& update);

 private:
  void take_offer(PeerEvent& event, PeerState& other);
  void take_reply(PeerEvent& event, PeerState& other);
  /// An offer is not taken. With push-sum its weight was given away: it comes back to this peer.
  void take_back(int peer);
  template <class F>
  void exchange(F work);
  void tell_policy(GossipMessage::Kind kind, const PeerEvent& event);

  const GossipPeerOptions& options_;
  PeerReplica& replica_;
  const ModelUpdateLayout& layout_;
  GossipResult& result_;
  PeerGroup& group_;
  GossipNode node_;
  std::map<int, ModelUpdate> offered_;  // by peer: until it answers, or is lost for good
  bool closing_ = false;
};

}  // namespace evener
