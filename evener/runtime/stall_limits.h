// How long a worker may make no progress before it counts as lost (--stall-timeout).
#pragma once

#include <algorithm>

#include "evener/core/seconds.h"

namespace evener {

struct StallLimits {
  Seconds fixed = 0;    // for all workers; 0: from the worker's own pace, as follows
  double factor = 10;   // times its longest pause so far,
  Seconds least = 60;   // but at least this,
  Seconds first = 600;  // and this before its first task has ended: it may compile kernels

  /// For a worker whose longest pause this is. `measured`: it has completed a task.
  Seconds limit(Seconds longest, bool measured) const {
    if (fixed > 0) return fixed;
    const Seconds by_pace = std::max(least, factor * longest);
    return measured ? by_pace : std::max(first, by_pace);
  }
};

}  // namespace evener
