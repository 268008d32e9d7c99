// A learning rate means the same under every strategy: the update that a step is a part of has the
// same rate, whatever the strategy, the device and the number of devices.
#include "tests/policy/toy.h"
#include <gtest/gtest.h>

#include "evener/nn/rate_rule.h"

namespace evener {
namespace {

constexpr std::size_t kBatch = 256;

std::vector<std::string> all_strategies() {
  std::vector<std::string> names;
  for (const auto& strategy : strategies()) names.push_back(strategy.name);
  return names;
}

/// Whether the strategy's steps are parts of updates of the run's batch size. The others make
/// updates of their own.
bool shares_updates(const std::string& name) {
  const Strategy& strategy = find_strategy(name);
  return strategy.sharing == Sharing::gradients || strategy.sharing == Sharing::pushes ||
         strategy.sharing == Sharing::peers || name == "local-sgd" || name == "elastic" ||
         name == "sma";
}

class Rates : public testing::TestWithParam<std::string> {};

TEST_P(Rates, AStepHasTheRateOfItsUpdate) {
  const Strategy& strategy = find_strategy(GetParam());
  const RateRule rule = rate_rule_of(Optimizer::adam, kBatch);
  for (const int count : {1, 2, 5}) {
    if (strategy.sharing == Sharing::single && count > 1) continue;
    std::vector<ToyWorker> workers;
    for (int i = 0; i < count; ++i) {
      const bool in_place =
          strategy.sharing == Sharing::in_place || (strategy.sharing == Sharing::shared && i == 0);
      workers.push_back(in_place ? cpu_worker(4, 1e-4) : replica_worker(1e-4 * (i + 1)));
    }
    Toy toy(GetParam(), workers, kBatch);
    // The messages of gossip nodes are lost here, so they stop after some steps.
    EXPECT_TRUE(toy.epoch(40 * kBatch) || strategy.sharing == Sharing::peers);
    EXPECT_FALSE(toy.tasks.empty());
    for (const auto& task : toy.tasks) {
      const Assign& assign = task.assign;
      ASSERT_NE(assign.update_rows, kAnyRows) << "a rate that does not follow the rows";
      const std::size_t rows = assign.update_rows > 0 ? assign.update_rows : assign.rows;
      if (shares_updates(GetParam())) {
        EXPECT_NEAR(static_cast<double>(rows), kBatch, count) << count << " workers";
        EXPECT_NEAR(rate_factor(rule, rows), 1, 0.02);
      } else if (GetParam() == "adaptive-sgd") {  // a round: one batch of each worker
        EXPECT_GE(rows, assign.rows);
        EXPECT_LE(rows, static_cast<std::size_t>(count) * kBatch);
      } else {
        EXPECT_EQ(rows, assign.rows);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, Rates, testing::ValuesIn(all_strategies()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace evener
