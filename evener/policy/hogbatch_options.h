// The options of hogwild, hogbatch and adaptive-hogbatch, and the presets of the last two.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "evener/policy/strategy.h"

namespace evener {

/// The option `cpu-batch` of all three.
StrategyOption cpu_batch_option(const std::string& value, const std::string& help);
/// The options of hogbatch and adaptive-hogbatch.
std::vector<StrategyOption> hogbatch_options();
std::size_t cpu_batch(const PolicyConfig& config);
/// The most rows of a CPU's task if cpu-batch is auto: its threads step on a model that others
/// change meanwhile, and an epoch waits for its last task. 0: no limit.
std::size_t most_cpu_rows(const PolicyConfig& config);
std::size_t accelerator_batch(const PolicyConfig& config);
/// rate-scaling=anchored.
bool is_anchored(const StrategyValues& values);
/// tail=shared.
bool shares_tail(const StrategyValues& values);
/// The presets of both; `own`: more values of the paper.
std::vector<Preset> hogbatch_presets(const std::map<std::string, std::string>& own = {});
/// writeback=overwrite.
bool overwrites(const StrategyValues& values);

/// A hint for strategy `name`, which has fixed batch sizes, where a CPU thread trains single rows
/// on a large model.
std::string cpu_batch_hint(const std::string& name, const StrategyValues& values,
                           const HintSetup& setup);

}  // namespace evener
