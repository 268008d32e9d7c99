// The part that gossip and adaptive-gossip share: all nodes of a run in one policy. Where each node
// is a process, it runs a GossipNode without this policy.
#pragma once

#include <memory>

#include "evener/policy/strategy.h"

namespace evener {

std::unique_ptr<Policy> make_gossip_policy(const GossipRule& rule, const PolicyConfig& config);

}  // namespace evener
