// To which of the present peers a gossiping node makes its next offer.
#pragma once

#include <cstdint>
#include <vector>

#include "evener/core/random.h"
#include "evener/core/seconds.h"

namespace evener {

enum class PeerChoice {
  uniform,  // at random
  ring,     // its two neighbours in turns
  shift,    // all others in turns
  fast,     // of two at random the one that answers sooner
};

struct Candidate {
  int peer;
  Seconds seconds;  // that it takes to answer; 0: not known
};

/// `candidates`: at least one, by their numbers; `offers`: made before.
int choose_peer(PeerChoice choice, const std::vector<Candidate>& candidates, int self,
                std::uint64_t offers, Random& random);

}  // namespace evener
