#include "evener/run/options/strategy_for.h"

#include <gtest/gtest.h>

#include "evener/core/error.h"

namespace evener {
namespace {

TrainOptions with_strategy(const std::string& strategy) {
  TrainOptions options;
  options.strategy = strategy;
  return options;
}

TEST(StrategyFor, AutoGoesByTheNumberOfDevices) {
  TrainOptions options;
  EXPECT_EQ(strategy_for_devices(options, 1), "sequential");
  EXPECT_EQ(strategy_for_devices(options, 2), "sync:split=speed");
  options.strategy = "sync";
  EXPECT_EQ(strategy_for_devices(options, 1), "sync");
}

TEST(StrategyFor, NodesAndPeersHaveStrategiesOfTheirOwn) {
  EXPECT_EQ(strategy_for_nodes({}), "dasp");
  EXPECT_EQ(strategy_for_nodes(with_strategy("ssp:s=4")), "ssp:s=4");
  EXPECT_EQ(strategy_for_peers({}), "adaptive-gossip");
  EXPECT_EQ(strategy_for_peers(with_strategy("gossip")), "gossip");
  for (const char* strategy : {"sync", "gossip"}) {
    EXPECT_THROW(strategy_for_nodes(with_strategy(strategy)), UsageError) << strategy;
  }
  for (const char* strategy : {"sync", "ssp"}) {
    EXPECT_THROW(strategy_for_peers(with_strategy(strategy)), UsageError) << strategy;
  }
}

}  // namespace
}  // namespace evener
