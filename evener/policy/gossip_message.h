// The messages of gossip nodes. Offers and replies carry models, which a policy does not see.
#pragma once

#include <cstdint>

namespace evener {

struct GossipMessage {
  enum class Kind {
    offer,    // has the sender's model, and starts an exchange
    reply,    // has the sender's model before it moved halfway to the offer (push-sum: a receipt)
    decline,  // no exchange now
  };
  Kind kind = Kind::offer;
  int from = 0, to = 0;
  std::uint64_t sequence = 0;  // of the offer, counted by the node that made it

  bool operator==(const GossipMessage&) const = default;
};

}  // namespace evener
