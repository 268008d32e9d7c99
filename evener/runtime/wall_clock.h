// The wall-clock stage: one thread a worker, and messages between them and the coordinator that
// neither side waits for.
#pragma once

#include <memory>
#include <vector>

#include "evener/runtime/models.h"
#include "evener/runtime/stage.h"

namespace evener {

struct WallClockOptions {
  /// Speed of each worker as a share of its own (--emulate); empty: all as they are.
  std::vector<double> speeds;
};

/// `workers` threads that run tasks on `models`, which outlives the stage; a single worker needs no
/// thread of its own.
std::unique_ptr<Stage> make_wall_clock(Models& models, int workers,
                                       const WallClockOptions& options = {});

}  // namespace evener
