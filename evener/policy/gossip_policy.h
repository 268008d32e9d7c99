// The part that gossip and adaptive-gossip share: all nodes of a run in one policy. Where every
// node is a process of its own, each runs a GossipNode alone.
#pragma once

#include <memory>

#include "evener/policy/strategy.h"

namespace evener {

std::unique_ptr<Policy> make_gossip_policy(const GossipRule& rule, const PolicyConfig& config);

}  // namespace evener
