// All strategies, and how a user names one.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "evener/policy/strategy.h"

namespace evener {

/// In the order in which users see them. Those of policy/strategies/ are there from the start.
const std::list<Strategy>& strategies();

/// Adds a strategy of the program that uses this library. To be called before anything else of the
/// library looks at the catalogue, from one thread. Error where the row is not complete or its
/// name is taken.
void register_strategy(Strategy strategy);

/// UsageError names the nearest.
const Strategy& find_strategy(const std::string& name);

/// A strategy as it was asked for: "NAME" or "NAME:option=value:option=value".
struct StrategyChoice {
  const Strategy* strategy;
  StrategyValues values;

  /// NAME and the options that differ from their defaults.
  std::string text() const;

  // What the row says for these values (strategy.h).
  std::string hint(const HintSetup& setup) const;
  bool overwrites() const;
  Compression compression() const;
  GossipRule gossip() const;
};
StrategyChoice parse_strategy(const std::string& text);

/// What `--strategy auto` stands for, with its options, as parse_strategy() takes it.
std::string automatic_strategy(AutoFor what);

/// With `preset`, where the strategy has several.
std::vector<StrategyOption> options_of(const Strategy& strategy);

/// Throws UsageError where the strategy cannot run on these workers.
void check_workers(const Strategy& strategy, const std::vector<WorkerTraits>& workers);

/// Whether its workers are nodes, each of which may be a machine of its own. Those of the others
/// are the devices of one machine.
bool is_for_nodes(const Strategy& strategy);
std::vector<std::string> names_of(bool for_nodes);
std::vector<std::string> names_of(Sharing sharing);
/// Whether nodes that train by `between` may each have devices that train by `inside`.
bool composes(const Strategy& inside, const Strategy& between);
/// UsageError where it is not a strategy of the devices inside a node.
void check_inside_node(const Strategy& strategy);

/// Tables for people: one line a strategy, or one strategy with its options; Markdown for docs.
std::string strategies_text();
std::string strategy_text(const Strategy& strategy);
std::string strategies_markdown();

}  // namespace evener
