#include "evener/data/make/zipf.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace evener {

// Every slot has the same probability 1/n. A rank that needs less than that shares its slot with
// one that needs more; the remaining need of the latter is handled in turn.
Zipf::Zipf(std::uint32_t n, double exponent) : slots_(n) {
  std::vector<double> need(n);  // in slots
  double sum = 0;
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    need[rank] = std::pow(rank + 1.0, -exponent);
    sum += need[rank];
  }
  for (double& value : need) value *= n / sum;

  constexpr std::uint32_t kFull = std::numeric_limits<std::uint32_t>::max();
  for (std::uint32_t rank = 0; rank < n; ++rank) slots_[rank] = {kFull, rank};
  // `need` falls with the rank: [0, large) need a slot or more, the others less.
  std::vector<std::uint32_t> small;
  std::uint32_t large = n;
  while (large > 0 && need[large - 1] < 1) small.push_back(--large);
  std::uint32_t giver = 0;
  while (!small.empty() && giver < large) {
    const std::uint32_t rank = small.back();
    small.pop_back();
    slots_[rank] = {static_cast<std::uint32_t>(std::min(need[rank] * 0x1p32, 0x1p32 - 1)), giver};
    need[giver] -= 1 - need[rank];
    if (need[giver] < 1) small.push_back(giver++);
  }
}

}  // namespace evener
