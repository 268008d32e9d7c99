// Chooses the peer that a gossip node makes its next offer to.
#pragma once

#include <cstdint>
#include <vector>

#include "evener/core/random.h"
#include "evener/core/seconds.h"

namespace evener {

enum class PeerChoice {
  uniform,  // at random
  ring,     // its two neighbours, alternately
  shift,    // all others, one after the other
  fast,     // two at random, then the one that answers faster
};

struct Candidate {
  int peer;
  Seconds seconds;  // that it takes to answer; 0: not known
};

/// `candidates`: at least one, by their numbers; `offers`: made before.
int choose_peer(PeerChoice choice, const std::vector<Candidate>& candidates, int self,
                std::uint64_t offers, Random& random);

}  // namespace evener
