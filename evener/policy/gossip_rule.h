// The options of gossip and adaptive-gossip as values: when a node exchanges its model, with which
// peer, and which part of the model is sent.
#pragma once

#include <cstddef>
#include <vector>

#include "evener/policy/compression.h"
#include "evener/policy/peer_choice.h"

namespace evener {

struct GossipRule {
  bool adaptive = false;   // exchanges follow the change of the model, which is measured
  std::size_t period = 1;  // fixed gossip: steps between exchanges
  // Adaptive gossip: after the first `warmup` steps an exchange is due when the model has
  // changed by `eps` of its length since the last one, not sooner than k_min steps, not later than
  // k_max.
  double eps = 0.08, k_min = 1, k_max = 50, warmup = 30;
  PeerChoice peers = PeerChoice::uniform;
  // Steps that a node trains while its own offer is under way. After them it waits for the answer.
  // 0 is the classic form. Without a limit, a node on a slow link would hardly ever exchange.
  double overlap = 4;
  bool push_sum = false;  // one way: the sender gives away weight, and no node declines

  bool changed_rows = false;  // only rows that have changed by more than eps_rows are sent
  double eps_rows = 0.2;      // share of a row's length
  Compression compression{};
};

/// The options of both strategies.
std::vector<StrategyOption> exchange_options();
/// The rule from their values. UsageError if they contradict each other.
GossipRule exchange_rule(const StrategyValues& values);

}  // namespace evener
