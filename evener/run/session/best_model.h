// Which model of a run is the best one so far, and when a run stops for want of a better one.
#pragma once

#include <cstdint>
#include <string>

#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/options/options.h"

namespace evener {

/// The metric that decides which model is best.
std::string deciding_metric(const TrainOptions& options);

/// Whether the value of the deciding metric after this epoch is better than all before; updates the
/// progress.
bool is_best(Progress& progress, const std::string& metric, double value, std::uint64_t epoch);

/// Whether there was no better model for --patience epochs.
bool stops_early(const TrainOptions& options, const Progress& progress);

}  // namespace evener
