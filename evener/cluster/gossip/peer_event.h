// Events that the transport's threads send to the thread of a gossip peer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/wire.h"
#include "evener/core/mailbox.h"
#include "evener/runtime/model_update.h"

namespace evener {

struct PeerEvent {
  enum class Kind {
    peer_hello,
    refusal,        // of a peer's hello, by this one
    refused_there,  // of this one, by another peer
    message,
    part_of_message,
    peer_heartbeat,
    leave,
    link_down,
    join_request
  };
  Kind kind = Kind::peer_heartbeat;
  int from = -1;                  // rank of the sender
  std::uint64_t incarnation = 0;  // of the sender
  wire::PeerHello peer_hello{};
  wire::JoinRequest join_request{};
  std::shared_ptr<Channel> channel{};  // to answer a hello or a join request
  wire::GossipMessage message{};
  ModelUpdate update{};  // of the message
  std::vector<std::uint64_t> steps{};
  wire::PeerHeartbeat peer_heartbeat{};
  // Of a refusal (empty: only for now) or a leave; not empty in a message that cannot be used.
  std::string why{};
};
using PeerEventQueue = Mailbox<PeerEvent>;

}  // namespace evener
