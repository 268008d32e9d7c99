// Gossip SGD with a fixed period (AD-PSGD, Lian et al. 2018): every p steps a node exchanges its
// model with one peer, and both become the mean (gossip_node.h).
#include "evener/policy/gossip_policy.h"

namespace evener {

namespace {

GossipRule gossip_rule(const StrategyValues& values) {
  GossipRule rule = exchange_rule(values);
  rule.period = static_cast<std::size_t>(values.number("period"));
  return rule;
}

}  // namespace

Strategy gossip_strategy() {
  return {.name = "gossip",
          .line = "replicas exchange with one peer every so many steps, without a server",
          .paper = "Lian et al. 2018 (AD-PSGD)",
          .order = 150,
          .sharing = Sharing::peers,
          .options = join_options(
              {number_option("period", "1", 1, kMostRows, "p: steps between exchanges")},
              exchange_options()),
          .make =
              [](const PolicyConfig& config) {
                return make_gossip_policy(gossip_rule(config.values), config);
              },
          .gossip = gossip_rule};
}

}  // namespace evener
