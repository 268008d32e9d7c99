// The wall-clock executor: one thread per worker, with a queue of tasks to each worker and a queue
// of arrivals back to the scheduler.
//
// A worker that hangs (hang_detector.h) is given up: its task fails, and its thread is left alone.
// That thread may come back at any time, so what it may use is never destroyed.
#pragma once

#include <memory>
#include <vector>

#include "evener/runtime/executor.h"
#include "evener/runtime/models.h"
#include "evener/runtime/supervision.h"

namespace evener {

struct WallClockOptions {
  /// Emulated speed of each worker (--emulate), as a share of its real speed; empty: no emulation.
  std::vector<double> speeds;
  Supervision supervision{};
};

/// `models` outlives the executor, and the process where a worker hangs. A single worker has no
/// thread of its own.
std::unique_ptr<Executor> make_wall_clock(Models& models, int workers,
                                          const WallClockOptions& options = {});

}  // namespace evener
