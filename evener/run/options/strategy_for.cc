#include "evener/run/options/strategy_for.h"

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/policy/catalogue.h"

namespace evener {

std::string strategy_for_devices(const TrainOptions& options, std::size_t devices) {
  if (options.strategy != "auto") return options.strategy;
  return automatic_strategy(devices == 1 ? AutoFor::one_device : AutoFor::several_devices);
}

std::string strategy_for_nodes(const TrainOptions& options) {
  if (options.strategy == "auto") return automatic_strategy(AutoFor::nodes);
  const StrategyChoice choice = parse_strategy(options.strategy);
  if (choice.strategy->sharing == Sharing::pushes) return options.strategy;
  throw UsageError(fmt::format("--strategy {}: is for {}; nodes have {}", choice.strategy->name,
                               choice.strategy->sharing == Sharing::peers
                                   ? "--peers, --transport mpi or the devices of one machine"
                                   : "the devices of one machine",
                               fmt::join(names_of(Sharing::pushes), ", ")));
}

std::string strategy_for_peers(const TrainOptions& options) {
  if (options.strategy == "auto") return automatic_strategy(AutoFor::peers);
  const StrategyChoice choice = parse_strategy(options.strategy);
  if (choice.strategy->sharing == Sharing::peers) return options.strategy;
  throw UsageError(fmt::format("--strategy {}: peers without a coordinator have {}",
                               choice.strategy->name,
                               fmt::join(names_of(Sharing::peers), " and ")));
}

}  // namespace evener
