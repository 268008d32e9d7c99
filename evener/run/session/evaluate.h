// Evaluates a replica on a data set, and formats metrics for display.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "evener/data/dataset.h"
#include "evener/device/device.h"
#include "evener/nn/metrics.h"
#include "evener/nn/predictions.h"

namespace evener {

constexpr std::uint32_t kEvaluationTop = 5;  // labels per row that metrics need

/// The top k (or all, if there are fewer) labels of every row. Calls `stop` between batches; if it
/// returns true, the result is nullopt.
std::optional<Predictions> predict_all(Replica& replica, const Dataset& data, std::uint32_t k,
                                       const std::function<bool()>& stop = {});

/// "P@1" for "p@1", "nDCG@3", "PSP@5", "AUC", "log-loss", ...
std::string metric_title(const std::string& metric);
/// Shares in per cent ("79.82"), the loss as it is ("2.3451").
std::string metric_text(const std::string& metric, double value);
/// "P@1 79.8  P@3 ...": the few metrics that fit into a progress line, without the loss.
std::string metrics_line(const Metrics& metrics);
/// A table of all metrics: P, nDCG and PSP have a column for each k. Shares in per cent.
std::string metrics_table(const Metrics& metrics);

}  // namespace evener
