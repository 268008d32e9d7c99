// Metrics as users read them.
#pragma once

#include <string>

#include "evener/nn/metrics.h"

namespace evener {

/// "P@1" for "p@1", "nDCG@3", "PSP@5", "AUC", "log-loss", ...
std::string metric_title(const std::string& metric);
/// Shares in per cent ("79.82"), the loss as it is ("2.3451").
std::string metric_text(const std::string& metric, double value);
/// "P@1 79.8  P@3 ...": the few metrics that fit into a progress line, without the loss.
std::string metrics_line(const Metrics& metrics);
/// A table of all metrics: P, nDCG and PSP have a column for each k. Shares in per cent.
std::string metrics_table(const Metrics& metrics);

}  // namespace evener
