// Loops over independent items on a team of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>

#include "evener/core/team.h"

namespace evener {

/// Called between chunks of a long loop, on the calling thread; true ends the loop early.
using Stop = std::function<bool()>;

/// Calls work(begin, end, member) for chunks of [0, total). Members take chunks as they become
/// free, so an item's result must not depend on the member. Returns false if `stop` ended it.
template <class Work>
bool for_chunks(Team& team, std::size_t total, std::size_t chunk, const Stop& stop, Work work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stopped{false};
  team.run([&](int member) {
    for (;;) {
      const std::size_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= total || stopped.load(std::memory_order_relaxed)) return;
      if (member == 0 && stop && stop()) {
        stopped = true;
        return;
      }
      work(begin, std::min(total, begin + chunk), member);
    }
  });
  return !stopped;
}

}  // namespace evener
