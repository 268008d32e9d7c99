// split=speed: how many rows nodes of unequal speed get.
#include "evener/policy/throughput_split.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "tests/policy/toy.h"
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace evener {
namespace {

struct ToyNode {
  double fixed, per_row;  // seconds

  double cycle(std::size_t rows) const { return fixed + per_row * static_cast<double>(rows); }
};

/// The rows of each node after so many rounds of all nodes.
std::vector<std::size_t> rows_after(int rounds, const std::vector<ToyNode>& nodes,
                                    std::size_t batch) {
  ThroughputSplit pace(batch, true);
  for (std::size_t i = 0; i < nodes.size(); ++i) pace.join(static_cast<int>(i), 0);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::size_t rows = pace.rows(static_cast<int>(i));
      pace.finished(static_cast<int>(i), rows, nodes[i].cycle(rows));
    }
  }
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < nodes.size(); ++i) rows.push_back(pace.rows(static_cast<int>(i)));
  return rows;
}

TEST(ThroughputSplit, ConvergesAtOnceWhereOnlyRowsTakeTime) {
  // 1/1 : 1/2 : 1/4 of 3 x 70
  EXPECT_EQ(rows_after(2, {{0, 1e-3}, {0, 2e-3}, {0, 4e-3}}, 70),
            (std::vector<std::size_t>{120, 60, 30}));
}

TEST(ThroughputSplit, LeavesEqualNodesAlone) {
  EXPECT_EQ(rows_after(100, {{5e-3, 1e-3}, {5e-3, 1e-3}}, 64), (std::vector<std::size_t>{64, 64}));
}

// Whatever the fixed cost of a step, all nodes end within one row and the dead band of each other,
// unless a node has its minimum of rows.
RC_GTEST_PROP(ThroughputSplit, MakesAllComputeEquallyLong, ()) {
  const std::size_t batch = 64;
  std::vector<ToyNode> nodes(static_cast<std::size_t>(*rc::gen::inRange(2, 9)));
  const double fixed = 1e-3 * *rc::gen::inRange(0, 100);
  for (auto& node : nodes) node = {fixed, 1e-3 * *rc::gen::inRange(1, 9)};
  const auto rows = rows_after(60, nodes, batch);
  double least = 1e9, most = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (rows[i] <= batch / 16) continue;
    least = std::min(least, nodes[i].cycle(rows[i]) + 0.5 * nodes[i].per_row);
    most = std::max(most, nodes[i].cycle(rows[i]) - 0.5 * nodes[i].per_row);
  }
  RC_ASSERT(most <= 1.15 * least);
  const auto sum = std::accumulate(rows.begin(), rows.end(), std::size_t{0});
  RC_ASSERT(sum > 0.9 * static_cast<double>(nodes.size() * batch));
  RC_ASSERT(sum < 1.1 * static_cast<double>(nodes.size() * batch));
}

TEST(ThroughputSplit, IgnoresAStallButNotALastingChange) {
  ThroughputSplit pace(64, true);
  pace.join(0, 0);
  pace.join(1, 0);
  const auto round = [&](double slowness) {
    for (const int node : {0, 1}) {
      const std::size_t rows = pace.rows(node);
      pace.finished(node, rows, 1e-3 * static_cast<double>(rows) * (node == 1 ? slowness : 1));
    }
  };
  for (int i = 0; i < 5; ++i) round(1);
  round(8);
  round(8);
  EXPECT_EQ(pace.rows(1), 64U);
  for (int i = 0; i < 5; ++i) round(1);
  EXPECT_EQ(pace.rows(1), 64U);
  for (int i = 0; i < 5; ++i) round(3);
  EXPECT_EQ(pace.rows(0), 96U);
  EXPECT_EQ(pace.rows(1), 32U);
}

TEST(ThroughputSplit, TheLearningRateIsProportionalToTheRows) {
  const ThroughputSplit pace(64, true);
  EXPECT_EQ(pace.rate(32), 0.5);
  EXPECT_EQ(pace.rate(96), 1.5);
  EXPECT_EQ(ThroughputSplit(64, false).rate(32), 1);
}

TEST(ThroughputSplit, RespectsMemoryAndForgetsNodesThatHaveLeft) {
  ThroughputSplit pace(64, true);
  pace.join(0, 70);
  pace.join(1, 0);
  for (int i = 0; i < 5; ++i) {
    pace.finished(0, 70, 0.010);
    pace.finished(1, pace.rows(1), 1e-3 * static_cast<double>(pace.rows(1)));
  }
  EXPECT_EQ(pace.rows(0), 70U);
  pace.leave(1);
  pace.join(1, 0);  // another machine
  EXPECT_EQ(pace.rows(1), 64U);
}

TEST(ThroughputSplit, IgnoresAPartOfABatch) {
  ThroughputSplit pace(64, true);
  pace.join(0, 0);
  pace.join(1, 0);
  for (int i = 0; i < 5; ++i) {
    pace.finished(0, 64, 0.064);
    pace.finished(1, 64, 0.064);
    pace.finished(1, 2, 0.030);  // of messages
  }
  EXPECT_EQ(pace.rows(1), 64U);
}

/// Nodes with these slownesses and message times.
std::vector<ToyWorker> one_two_four(double fixed) {
  std::vector<ToyWorker> nodes(3);
  for (std::size_t i = 0; i < 3; ++i) {
    nodes[i].fixed = fixed;
    nodes[i].per_row = 1e-3 * static_cast<double>(1 << i);
  }
  return nodes;
}

// Equal nodes whose messages take most of the time, now this long, now that: their parts stay
// equal.
TEST(ThroughputSplit, IgnoresTheTimeOfMessages) {
  PolicyConfig config;
  config.workers = 2;
  config.batch = 64;
  const auto choice = parse_strategy("asp:split=speed");
  config.values = choice.values;
  const auto policy = choice.strategy->make(config);
  for (const int node : {0, 1}) policy->on(Joined{node, {}});
  policy->on(EpochBegan{0, 1'000'000, 0});
  Random random(7);
  double now = 0;
  for (int i = 0; i < 500; ++i) {
    now += 1 + random.uniform();
    for (const Decision& decision : policy->on(Finished{i % 2, 32, 1, now, 0, 0.032})) {
      const auto* assign = std::get_if<Assign>(&decision);
      if (assign != nullptr) {
        EXPECT_EQ(assign->rows, 32U);
      }
    }
  }
}

// With split=speed no node waits in bsp, and every update still uses the whole batch.
TEST(ThroughputSplit, RemovesTheWaitingFromBsp) {
  const auto waited = [](const std::string& strategy) {
    Toy toy(strategy, one_two_four(0.01), 210);
    std::map<int, double> busy;
    EXPECT_TRUE(toy.epoch(210 * 100));
    for (const ToyTask& task : toy.tasks) busy[task.assign.worker] += task.end - task.start;
    double sum = 0;
    for (const auto& [node, seconds] : busy) sum += seconds;
    return 1 - sum / (3 * toy.now);
  };
  EXPECT_GT(waited("bsp"), 0.3);
  EXPECT_LT(waited("bsp:split=speed"), 0.06);
  EXPECT_LT(waited("dasp"), 0.06);
}

TEST(ThroughputSplit, StepsOfABatchMakeOneOfTheWholeBatch) {
  Toy toy("bsp:split=speed", one_two_four(0), 210);
  std::map<int, Assign> last;
  std::size_t seen = 0;
  toy.on_decision = [&](const Decision& decision, Toy& now) {
    if (const auto* assign = std::get_if<Assign>(&decision)) last[assign->worker] = *assign;
    if (!std::holds_alternative<ApplyPushes>(decision) || now.apply_pushes_calls.size() < 5) return;
    ++seen;
    std::size_t rows = 0;
    for (const auto& [node, assign] : last) {
      rows += assign.rows;
      EXPECT_DOUBLE_EQ(assign.rate, static_cast<double>(assign.rows) / 70);
    }
    EXPECT_EQ(rows, 210U);
  };
  ASSERT_TRUE(toy.epoch(210 * 50));
  EXPECT_GT(seen, 30U);
}

}  // namespace
}  // namespace evener
