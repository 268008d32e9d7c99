// The wall-clock executor: one thread per worker, with a queue of tasks to each worker and a queue
// of arrivals back to the scheduler.
#pragma once

#include <memory>
#include <vector>

#include "evener/runtime/executor.h"
#include "evener/runtime/models.h"

namespace evener {

struct WallClockOptions {
  /// Emulated speed of each worker (--emulate), as a share of its real speed; empty: no emulation.
  std::vector<double> speeds;
};

/// `models` outlives the executor. A single worker has no thread of its own.
std::unique_ptr<Executor> make_wall_clock(Models& models, int workers,
                                          const WallClockOptions& options = {});

}  // namespace evener
