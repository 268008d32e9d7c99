// Gossip SGD when the model has changed (the idea: Ho, Wu, Liu 2018; the trigger is ours): after
// `warmup` steps a node exchanges as soon as |x - ref| / |ref| > eps, where ref is its model after
// the last exchange; not sooner than k-min steps after that, and not later than k-max.
#include "evener/policy/gossip_policy.h"

namespace evener {

namespace {

GossipRule adaptive_gossip_rule(const StrategyValues& values) {
  GossipRule rule = exchange_rule(values);
  rule.adaptive = true;
  rule.eps = values.number("eps");
  rule.k_min = values.number("k-min");
  rule.k_max = values.number("k-max");
  rule.warmup = values.number("warmup");
  return rule;
}

}  // namespace

Strategy adaptive_gossip_strategy() {
  return {.name = "adaptive-gossip",
          .line = "gossip when the local model has changed, not by the clock",
          .paper = "Ho, Wu, Liu 2018; the trigger is ours",
          .order = 160,
          .sharing = Sharing::peers,
          .options = join_options(
              {number_option("eps", "0.08", 0, kUnbounded,
                             "share of its length that a model must have changed by"),
               number_option("k-min", "1", 1, kMostRows, "least steps between exchanges"),
               number_option("k-max", "50", 1, kUnbounded, "most steps between exchanges"),
               number_option("warmup", "30", 0, kMostRows,
                             "first steps, after each of which it exchanges")},
              exchange_options()),
          .make =
              [](const PolicyConfig& config) {
                return make_gossip_policy(adaptive_gossip_rule(config.values), config);
              },
          .automatic = {{AutoFor::peers}},
          .gossip = adaptive_gossip_rule};
}

}  // namespace evener
