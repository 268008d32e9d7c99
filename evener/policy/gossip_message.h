// The messages of gossiping nodes. Models travel with offers and replies; a policy does not see
// them.
#pragma once

#include <cstdint>

namespace evener {

struct GossipMessage {
  enum class Kind {
    offer,    // here is my model: let us exchange
    reply,    // here is mine as it was; I have taken half of yours (of push-sum: I have it)
    decline,  // not now
  };
  Kind kind = Kind::offer;
  int from = 0, to = 0;
  std::uint64_t sequence = 0;  // of the offer, counted by the node that made it

  bool operator==(const GossipMessage&) const = default;
};

}  // namespace evener
