// The batch bounds of Adaptive Hogbatch for one kind of worker: min_E and max_E.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/policy/strategy.h"

namespace evener {

struct BatchBounds {
  double first, least, most;
};

/// Options KIND-min and KIND-max. `automatic`: those that are "auto", as shares of the first batch.
inline BatchBounds batch_bounds(const PolicyConfig& config, const std::string& kind,
                                std::size_t first, std::pair<double, double> automatic) {
  const StrategyValues& values = config.values;
  const auto batch = static_cast<double>(first);
  const double least = values.number(kind + "-min", std::max(1.0, batch * automatic.first));
  const double most = values.number(kind + "-max", std::max(1.0, batch * automatic.second));
  if (least > most) {
    throw UsageError(fmt::format("the batch bounds cross: {0}-min {1:g} is more than {0}-max {2:g}",
                                 kind, least, most));
  }
  return {batch, least, most};
}

}  // namespace evener
