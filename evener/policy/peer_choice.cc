#include "evener/policy/peer_choice.h"

#include <algorithm>
#include <cstddef>

namespace evener {

int choose_peer(PeerChoice choice, const std::vector<Candidate>& candidates, int self,
                std::uint64_t offers, Random& random) {
  const auto at_random = [&] { return candidates[random.below(candidates.size())]; };
  // The next peer by number, with wrap-around.
  const auto above = static_cast<std::size_t>(std::count_if(
      candidates.begin(), candidates.end(), [&](const auto& other) { return other.peer < self; }));
  const auto around = [&](std::size_t place) { return candidates[place % candidates.size()].peer; };
  switch (choice) {
    case PeerChoice::uniform:
      break;
    case PeerChoice::ring:
      return around(offers % 2 == 0 ? above : above + candidates.size() - 1);
    case PeerChoice::shift:
      return around(above + offers);
    case PeerChoice::fast: {
      const Candidate one = at_random(), two = at_random();
      return one.seconds <= two.seconds ? one.peer : two.peer;
    }
  }
  return at_random().peer;
}

}  // namespace evener
