// The work of the workers over the time of a run.
#pragma once

#include <vector>

#include "evener/run/compare/compare.h"

namespace evener {

/// A series for each worker.
std::vector<std::vector<WorkerPoint>> worker_series(const Timeline& timeline);

}  // namespace evener
