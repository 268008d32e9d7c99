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

/// Of nodes: each worker may be a machine of its own. The others are of the devices of one machine.
bool is_for_nodes(const Strategy& strategy);
std::vector<std::string> names_of(bool for_nodes);
/// Whether nodes that train by `between` may each have devices that train by `inside`.
bool composes(const Strategy& inside, const Strategy& between);
/// UsageError where it is not a strategy of the devices inside a node.
void check_inside_node(const Strategy& strategy);

/// Tables for people: one line a strategy, or one strategy with its options; Markdown for docs.
std::string strategies_text();
std::string strategy_text(const Strategy& strategy);
std::string strategies_markdown();

}  // namespace evener
