// Which model of a run is the best one so far.
#pragma once

#include <cstdint>
#include <string>

#include "evener/nn/metrics.h"
#include "evener/run/artifacts/checkpoint.h"

namespace evener {

/// Whether the value of the deciding metric after this epoch is better than all before, which is
/// written down.
inline bool is_best(Progress& progress, const std::string& metric, double value,
                    std::uint64_t epoch) {
  const bool better =
      larger_is_better(metric) ? value > progress.best_metric : value < progress.best_metric;
  if (progress.best_epoch > 0 && !better) {
    progress.epochs_since_best = epoch - progress.best_epoch;
    return false;
  }
  progress.best_metric = value;
  progress.best_epoch = epoch;
  progress.epochs_since_best = 0;
  return true;
}

}  // namespace evener
