// Selection of the best model of a run, and early stopping.
#pragma once

#include <cstdint>
#include <string>

#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/options/options.h"

namespace evener {

/// The metric that selects the best model.
std::string deciding_metric(const TrainOptions& options);

/// Whether this epoch's value of that metric is the best so far; updates the progress.
bool is_best(Progress& progress, const std::string& metric, double value, std::uint64_t epoch);

/// Whether the metric has not improved for --patience epochs.
bool stops_early(const TrainOptions& options, const Progress& progress);

}  // namespace evener
