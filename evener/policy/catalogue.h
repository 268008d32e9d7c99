// All strategies, and how a user names one.
#pragma once

#include <string>
#include <vector>

#include "evener/policy/strategy.h"

namespace evener {

const std::vector<Strategy>& strategies();

/// UsageError names the nearest.
const Strategy& find_strategy(const std::string& name);

/// A strategy as it was asked for: "NAME" or "NAME:option=value:option=value".
struct StrategyChoice {
  const Strategy* strategy;
  StrategyValues values;

  /// NAME and the options that differ from their defaults.
  std::string text() const;
};
StrategyChoice parse_strategy(const std::string& text);

/// With `preset`, where the strategy has one.
std::vector<StrategyOption> options_of(const Strategy& strategy);

/// Throws UsageError where the strategy cannot run on these workers.
void check_workers(const Strategy& strategy, const std::vector<WorkerTraits>& workers);

/// Tables for people: one line a strategy, or one strategy with its options; Markdown for docs.
std::string strategies_text();
std::string strategy_text(const Strategy& strategy);
std::string strategies_markdown();

}  // namespace evener
