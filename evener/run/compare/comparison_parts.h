// The parts of a comparison's HTML page. All return HTML, except those named text.
#pragma once

#include <string>

#include "evener/run/compare/compare.h"

namespace evener {

/// "12.3 s", "never" for infinity.
std::string seconds_text(double seconds);
/// "79.82 %", the loss unchanged; a dash for NaN.
std::string quality_text(const Comparison& comparison, double quality);
/// Three significant digits, with thousands separators; a dash for NaN.
std::string number_text(double value);
/// In the format of --learning-rate.
std::string rate_text(double learning_rate);
/// The name of worker `i` of a run, with or without a result.
std::string worker_name_text(const ComparedRun& run, std::size_t i);
std::size_t diverged_runs(const ComparedStrategy& strategy);

/// One row per strategy.
std::string strategy_table(const Comparison& comparison);
/// One row per worker, for each strategy's first run. Empty if no run has workers.
std::string worker_table(const Comparison& comparison);
/// Best quality by learning rate. Empty if nothing was tuned.
std::string tuning_table(const Comparison& comparison);

/// Quality over time: the median run of each strategy, with the other runs in pale.
std::string quality_chart(const Comparison& comparison);
/// Bytes, exchanges and the distance between replicas over time, for the strategies that have them.
/// Empty if none has any.
std::string communication_charts(const Comparison& comparison);
/// Batch sizes, updates and utilization of the workers in the strategy's first run. Empty if none
/// of it was recorded.
std::string worker_charts(const ComparedStrategy& strategy, bool virtual_time);

}  // namespace evener
