// The catalogue of all strategies, and the parser of --strategy.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "evener/policy/strategy.h"

namespace evener {

/// In the order of lists for users. Those of policy/strategies/ are always in it.
const std::list<Strategy>& strategies();

/// Adds a strategy of the program that uses this library. Call it from one thread, before the
/// library uses the catalogue. Error if the row is incomplete, or if its name or that of an option
/// is taken.
void register_strategy(Strategy strategy);

/// The names that options of strategies cannot have, because commands have options of these names.
/// The part of the program that has these options sets the function before main() begins.
using ReservedNames = std::vector<std::string> (*)();
bool reserve_option_names(ReservedNames names);

/// UsageError with the nearest name if there is none.
const Strategy& find_strategy(const std::string& name);

/// A strategy as the user wrote it: "NAME" or "NAME:option=value:option=value".
struct StrategyChoice {
  const Strategy* strategy;
  StrategyValues values;

  /// NAME and the options that differ from their defaults.
  std::string text() const;

  /// The options of the strategy that set its batch sizes here; empty: it uses the run's.
  std::vector<std::string> batch_options() const;

  // The functions of the row with these values (strategy.h).
  std::string hint(const HintSetup& setup) const;
  bool overwrites() const;
  Compression compression() const;
  GossipRule gossip() const;
};
StrategyChoice parse_strategy(const std::string& text);

/// The choice of `--strategy auto`, with its options, as text for parse_strategy().
std::string automatic_strategy(AutoFor what);

/// With `preset`, where the strategy has several.
std::vector<StrategyOption> options_of(const Strategy& strategy);

/// Throws UsageError where the strategy cannot run on these workers.
void check_workers(const Strategy& strategy, const std::vector<WorkerTraits>& workers);

/// Whether its workers are nodes, which may be different machines. The workers of other strategies
/// are the devices of one machine.
bool is_for_nodes(const Strategy& strategy);
std::vector<std::string> names_of(bool for_nodes);
std::vector<std::string> names_of(Sharing sharing);
/// Whether nodes that train by `between` may each have devices that train by `inside`.
bool composes(const Strategy& inside, const Strategy& between);
/// UsageError if it is not a strategy for the devices inside a node.
void check_inside_node(const Strategy& strategy);

/// Tables for users: one line per strategy, or one strategy with its options; Markdown for docs.
std::string strategies_text();
std::string strategy_text(const Strategy& strategy);
std::string strategies_markdown();

}  // namespace evener
