// The parts of a comparison's page. All of them are HTML, ready to stand in it, except for those
// called text.
#pragma once

#include <string>

#include "evener/run/compare/compare.h"

namespace evener {

/// "12.3 s", "never" for what is infinite.
std::string seconds_text(double seconds);
/// "79.82 %", the loss as it is; a dash for what is not a number.
std::string quality_text(const Comparison& comparison, double quality);
/// Three digits that count, thousands set off by commas; a dash for what is not a number.
std::string number_text(double value);
/// As it would be given to --learning-rate.
std::string rate_text(double learning_rate);
/// Of worker `i` of a run, whether or not it has a result.
std::string worker_name_text(const ComparedRun& run, std::size_t i);
std::size_t diverged_runs(const ComparedStrategy& strategy);

/// A row a strategy.
std::string strategy_table(const Comparison& comparison);
/// A row a worker, in each strategy's first run. Empty if no run has workers.
std::string worker_table(const Comparison& comparison);
/// Best quality by learning rate. Empty if nothing was tuned.
std::string tuning_table(const Comparison& comparison);

/// Quality over time: the median run of each strategy, the others pale behind it.
std::string quality_chart(const Comparison& comparison);
/// Bytes, exchanges and the distance between replicas over time, each for the strategies that have
/// it. Empty if none has any.
std::string communication_charts(const Comparison& comparison);
/// Batch sizes, updates and utilization of the workers in the strategy's first run. Empty if
/// nothing of that was recorded.
std::string worker_charts(const ComparedStrategy& strategy, bool virtual_time);

}  // namespace evener
