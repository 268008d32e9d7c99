// The wall-clock executor: one thread a worker, and messages between them and the scheduler that
// neither side waits for.
#pragma once

#include <memory>
#include <vector>

#include "evener/runtime/executor.h"
#include "evener/runtime/models.h"

namespace evener {

struct WallClockOptions {
  /// Speed of each worker as a share of its own (--emulate); empty: all as they are.
  std::vector<double> speeds;
};

/// `workers` threads that run tasks on `models`, which outlives the executor; a single worker needs
/// no thread of its own.
std::unique_ptr<Executor> make_wall_clock(Models& models, int workers,
                                          const WallClockOptions& options = {});

}  // namespace evener
