// What the options of gossip and adaptive-gossip amount to: when a node exchanges its model, with
// which peer, and what of the model travels.
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
  // Steps that a node trains while its own offer is under way; then it waits for the answer. 0 is
  // the classic form. On a link where a message takes many steps a node without limit would hardly
  // ever exchange.
  double overlap = 4;
  bool push_sum = false;  // one way: what is sent is given away, and no node declines

  bool changed_rows = false;  // only rows that have changed by more than eps_rows travel
  double eps_rows = 0.2;      // share of a row's length
  Compression compression{};
};

/// The options of both: with which peer a node exchanges, how, and what of its model travels.
std::vector<StrategyOption> exchange_options();
/// What these amount to. UsageError where they contradict each other.
GossipRule exchange_rule(const StrategyValues& values);

}  // namespace evener
