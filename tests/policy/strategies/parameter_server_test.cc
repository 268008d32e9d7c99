// bsp, asp, ssp, dssp and dasp: their invariants over random clusters, and the limits of dasp.
#include "evener/policy/parameter_server.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/policy/toy.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace evener {
namespace {

const ParameterServer& server(const Toy& toy) {
  return dynamic_cast<const ParameterServer&>(toy.policy());
}

std::vector<ToyWorker> nodes_at(const std::vector<double>& seconds_a_row) {
  std::vector<ToyWorker> nodes;
  for (const double seconds : seconds_a_row) nodes.push_back(replica_worker(seconds));
  return nodes;
}

/// Unequal nodes with jitter. Some are lost, some join late or rejoin, some are silent for a while,
/// some send invalid pushes. Node 0 stays.
std::vector<ToyWorker> random_nodes() {
  std::vector<ToyWorker> nodes;
  const int count = *rc::gen::inRange(1, 9);
  for (int i = 0; i < count; ++i) {
    ToyWorker node = replica_worker(1e-3 * *rc::gen::inRange(1, 17));
    node.jitter = 0.1 * *rc::gen::inRange(0, 6);
    if (i > 0 && *rc::gen::inRange(0, 4) == 0) node.lost_at = 0.02 * *rc::gen::inRange(1, 60);
    if (i > 0 && *rc::gen::inRange(0, 4) == 0) node.joins_at = 0.02 * *rc::gen::inRange(1, 60);
    if (*rc::gen::inRange(0, 4) == 0) node.suspect_at = 0.02 * *rc::gen::inRange(1, 60);
    if (*rc::gen::inRange(0, 4) == 0) node.spoils = 0.1;
    if (node.lost_at > 0 && *rc::gen::inRange(0, 2) == 0) {
      node.rejoins_at = node.lost_at + 0.02 * *rc::gen::inRange(1, 30);
    }
    nodes.push_back(node);
  }
  return nodes;
}

std::string random_strategy() {
  return *rc::gen::element<std::string>(
      "bsp", "asp", "asp:staleness-lr=on", "asp:share=full", "ssp", "ssp:s=0", "ssp:s=1", "dssp",
      "dssp:s-low=0:s-high=2", "dssp:s-low=1:s-high=4:r-max=3", "dasp", "dasp:beta=0",
      "dasp:beta=inf", "dasp:beta=2:tau-max=1", "dasp:tau-max=3", "dasp:s-clock=2",
      "dasp:beta=0:s-clock=1", "dasp:local-steps=3", "bsp:local-steps=2", "bsp:split=speed",
      "ssp:split=speed", "dasp:split=equal");
}

RC_GTEST_PROP(ParameterServer, TrainsEveryRowAndCountsEveryPush, (std::uint16_t seed)) {
  Toy toy(random_strategy(), random_nodes(), 64, seed);
  std::vector<NodeState> before;
  toy.on_decision = [&](const Decision&, Toy& now) {
    const NodeTable& table = server(now).nodes();
    for (int i = 0; i < table.size(); ++i) {
      const NodeState state = table.at(i).state;
      if (before.size() <= static_cast<std::size_t>(i)) before.push_back(state);
      NodeState& old = before[static_cast<std::size_t>(i)];
      // Between two decisions there may be several steps: dead, joining, ...
      const bool one_step = old != NodeState::dead && state != NodeState::joining;
      if (old != state && one_step) RC_ASSERT(is_legal(old, state));
      old = state;
    }
  };
  for (int epoch = 0; epoch < 3; ++epoch) {
    const std::size_t rows = 300 + static_cast<std::size_t>(*rc::gen::inRange(0, 700));
    RC_ASSERT(toy.epoch(rows));
    RC_ASSERT(toy.trained == rows);
    RC_ASSERT(toy.legal);
  }
  const NodeTable& table = server(toy).nodes();
  std::uint64_t applied = 0;
  for (int i = 0; i < table.size(); ++i) {
    const NodeRecord& node = table.at(i);
    applied += node.applied;
    const std::size_t died = toy.died_waiting[static_cast<std::size_t>(i)];
    RC_ASSERT(node.applied + node.rejected + died == node.pushes);
  }
  std::uint64_t in_calls = 0;
  for (const ApplyPushes& call : toy.apply_pushes_calls) in_calls += call.workers.size();
  RC_ASSERT(applied == in_calls);
  RC_ASSERT(server(toy).version() == toy.apply_pushes_calls.size());
}

/// Computed independently of the policy: the staleness of each applied push, and the gaps.
struct Watch {
  std::map<int, std::uint64_t> pulled, clocks;
  std::uint64_t version = 0, most_stale = 0, widest_gap = 0;

  void see(const Decision& decision, const Toy& toy) {
    if (const auto* assign = std::get_if<Assign>(&decision)) pulled[assign->worker] = version;
    if (const auto* apply_pushes = std::get_if<ApplyPushes>(&decision)) {
      for (const int worker : apply_pushes->workers) {
        most_stale = std::max(most_stale, version - pulled[worker]);
        ++clocks[worker];
      }
      ++version;
      std::uint64_t least = ~std::uint64_t{0}, most = 0;
      for (int i = 0; i < server(toy).nodes().size(); ++i) {
        least = std::min(least, clocks[i]);
        most = std::max(most, clocks[i]);
      }
      widest_gap = std::max(widest_gap, most - least);
    }
  }
};

RC_GTEST_PROP(ParameterServer, KeepsStalenessAndGapsWithinTheirBounds, (std::uint16_t seed)) {
  std::vector<ToyWorker> nodes;
  const int count = *rc::gen::inRange(2, 9);
  for (int i = 0; i < count; ++i) {
    nodes.push_back(replica_worker(1e-3 * *rc::gen::inRange(1, 17)));
    nodes.back().jitter = 0.1 * *rc::gen::inRange(0, 6);
  }
  struct Promise {
    std::string strategy;
    double staleness, gap;
  };
  constexpr double kAny = 1e9;
  const Promise promise = *rc::gen::elementOf(std::vector<Promise>{
      {"bsp", 0, kAny},
      {"ssp:s=0", kAny, 1},
      {"ssp:s=3", kAny, 4},
      {"dssp:s-low=1:s-high=5", kAny, 6},
      {"dasp", 2.0 * count, kAny},
      {"dasp:tau-max=1", 1, kAny},
      {"dasp:beta=0:tau-max=7:s-clock=2", 7, 3},
  });
  Toy toy(promise.strategy, nodes, 64, seed);
  Watch watch;
  toy.on_decision = [&](const Decision& d, Toy& now) { watch.see(d, now); };
  for (int epoch = 0; epoch < 3; ++epoch) RC_ASSERT(toy.epoch(1500));
  RC_ASSERT(static_cast<double>(watch.most_stale) <= promise.staleness);
  // Rejected pushes count for the server's clock and not for ours.
  if (toy.rejects == 0) RC_ASSERT(static_cast<double>(watch.widest_gap) <= promise.gap);
}

TEST(Ssp, TheSlowestNeverWaits) {
  for (const char* strategy : {"ssp:s=0", "ssp:s=2", "dssp:s-low=1:s-high=4"}) {
    Toy toy(strategy, nodes_at({1e-3, 1e-3, 8e-3}));
    ASSERT_TRUE(toy.epoch(3000));
    EXPECT_NEAR(server(toy).nodes().at(2).waited, 0, 1e-9) << strategy;
    EXPECT_GT(server(toy).nodes().at(0).waited, 0.1) << strategy;
  }
}

TEST(Bsp, WaitsForAllAndTakesTheirMean) {
  Toy toy("bsp", nodes_at({1e-3, 2e-3, 4e-3}), 96);
  ASSERT_TRUE(toy.epoch(960));
  ASSERT_EQ(toy.apply_pushes_calls.size(), 10U);
  for (const ApplyPushes& apply_pushes : toy.apply_pushes_calls)
    EXPECT_EQ(apply_pushes, (ApplyPushes{{0, 1, 2}, 1, 1, 0}));
}

TEST(Asp, DoesNotWaitAndAppliesAPushAsItsPartOfAStep) {
  Toy toy("asp", nodes_at({1e-3, 2e-3, 4e-3, 4e-3}), 64);
  ASSERT_TRUE(toy.epoch(4096));
  for (const ApplyPushes& apply_pushes : toy.apply_pushes_calls) {
    EXPECT_EQ(apply_pushes.workers.size(), 1U);
    EXPECT_EQ(apply_pushes.share, 0.25);
  }
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(server(toy).nodes().at(i).waited, 0, 1e-9);
  EXPECT_GT(toy.updates[0], 3 * toy.updates[3]);
}

TEST(Asp, AStalePushHasLessWeight) {
  EXPECT_EQ(damping_of(0, 4), 1);
  EXPECT_EQ(damping_of(3, 4), 1);
  EXPECT_EQ(damping_of(7, 4), 0.5);
  EXPECT_NEAR(damping_of(15, 4), 0.25, 1e-12);
}

// Pushes every 1 s and every 5 s: beyond the bound of 1, the fast node gets the steps that end with
// the slow node's next push, once that node's interval is known, and then more: only s-high stops
// it.
TEST(Dssp, LetsTheFastestContinueUntilTheSlowestPushes) {
  const auto nodes = nodes_at({1e-3, 5e-3});
  const auto widest_gap = [&](const char* strategy) {
    Toy toy(strategy, nodes, 64);
    Watch watch;
    toy.on_decision = [&](const Decision& d, Toy& now) { watch.see(d, now); };
    EXPECT_TRUE(toy.epoch(3200));
    return watch.widest_gap;
  };
  EXPECT_EQ(widest_gap("ssp:s=1"), 2U);
  EXPECT_EQ(widest_gap("dssp:s-low=1:s-high=10:r-max=0"), 2U);
  EXPECT_GT(widest_gap("dssp:s-low=1:s-high=10:r-max=2"), 2U);
  EXPECT_EQ(widest_gap("dssp:s-low=1:s-high=10:r-max=5"), 11U);
  EXPECT_EQ(widest_gap("dssp:s-low=1:s-high=3:r-max=5"), 4U);
}

// The first three push together; the push of a straggler is applied when it arrives.
TEST(Dasp, GroupsNodesOfEqualSpeedAndDoesNotWaitForTheOther) {
  Toy toy("dasp:split=equal", nodes_at({1e-3, 1.05e-3, 1.1e-3, 8e-3}), 64);
  ASSERT_TRUE(toy.epoch(6400));
  std::size_t threes = 0;
  for (const ApplyPushes& apply_pushes : toy.apply_pushes_calls)
    threes += apply_pushes.workers.size() == 3 ? 1 : 0;
  EXPECT_GT(threes, toy.apply_pushes_calls.size() * 7 / 10);
  const NodeTable& table = server(toy).nodes();
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(table.at(i).waited / static_cast<double>(table.at(i).pushes),
              0.5 * table.at(i).cycle);
  }
  EXPECT_EQ(toy.rejects, 0U);
}

TEST(Dasp, RejectsAPushThatIsTooStaleAndTrainsItsRowsAgain) {
  Toy toy("dasp:split=equal:beta=0:tau-max=4", nodes_at({1e-3, 1e-3, 20e-3}), 64);
  ASSERT_TRUE(toy.epoch(6400));
  EXPECT_EQ(toy.trained, 6400U);
  EXPECT_GT(toy.rejects, 0U);
  EXPECT_EQ(server(toy).nodes().at(2).rejected, toy.rejects);
}

// No push waits longer than its share of the node's cycle.
TEST(Dasp, WaitsNoLongerThanTheDeadline) {
  for (const double beta : {0.1, 0.5, 1.0}) {
    Toy toy(fmt::format("dasp:split=equal:beta={}", beta),
            nodes_at({1e-3, 1.3e-3, 1.9e-3, 2.5e-3, 7e-3}), 80);
    std::map<int, double> pushed;
    double longest = 0;
    toy.on_decision = [&](const Decision& decision, Toy& now) {
      const auto* apply_pushes = std::get_if<ApplyPushes>(&decision);
      if (apply_pushes == nullptr) return;
      for (const int worker : apply_pushes->workers) {
        const NodeRecord& node = server(now).nodes().at(worker);
        longest = std::max(longest, (now.now - node.pushed) / node.cycle);
      }
    };
    ASSERT_TRUE(toy.epoch(4000));
    EXPECT_LE(longest, beta + 1e-9);
    EXPECT_GT(longest, 0);
  }
}

/// Four nodes with a cycle of 1 have pushed together at 1 and are at work again.
class FourNodes {
 public:
  explicit FourNodes(const std::string& strategy) {
    PolicyConfig config;
    config.workers = 4;
    config.batch = 40;
    const auto choice = parse_strategy(strategy);
    config.values = choice.values;
    policy_ = choice.strategy->make(config);
    for (int i = 0; i < 4; ++i) policy_->on(Joined{i, {}});
    policy_->on(EpochBegan{0, 1000, 0});
    for (int i = 0; i < 4; ++i) push(i, 1);
  }
  /// The nodes whose pushes are applied after it, as "01".
  std::string push(int node, double now) {
    return applied(policy_->on(Finished{node, 10, 1, now}));
  }
  std::string wake(double now) { return applied(policy_->on(TimerFired{now})); }
  std::string lose(int node, double now) { return applied(policy_->on(Lost{node, 10, now})); }
  double wakes_at = 0;  // the last timer

 private:
  std::string applied(const Decisions& decisions) {
    std::string nodes;
    for (const Decision& decision : decisions) {
      if (const auto* wake = std::get_if<SetTimer>(&decision)) wakes_at = wake->at;
      const auto* apply_pushes = std::get_if<ApplyPushes>(&decision);
      if (apply_pushes != nullptr) nodes += fmt::format("{}", fmt::join(apply_pushes->workers, ""));
    }
    return nodes;
  }
  std::unique_ptr<Policy> policy_;
};

// Three others are expected at 2: they are worth 3/4 beta of the first one's cycle, 0.7 + 0.3 of
// its newest time.
TEST(Dasp, WaitsIfEnoughPushesAreExpected) {
  struct Case {
    double beta, pushed;
    bool waits;
  };
  for (const Case& c : std::vector<Case>{{0.5, 1.6, false},
                                         {0.5, 1.7, true},
                                         {1, 1.3, false},
                                         {1, 1.5, true},
                                         {4, 1.1, true},
                                         {0, 1.99, false},
                                         {0, 2, false}}) {
    FourNodes nodes(fmt::format("dasp:split=equal:beta={}", c.beta));
    EXPECT_EQ(nodes.push(0, c.pushed), c.waits ? "" : "0") << c.beta << " " << c.pushed;
  }
}

// The fewer are missing, the less is waited for them: for three until 3/4 of beta after they were
// due, for the last until a quarter.
TEST(Dasp, DoesNotWaitLongForNodesThatHaveStalled) {
  FourNodes nodes("dasp:split=equal:beta=0.4");
  EXPECT_EQ(nodes.push(0, 2), "");
  EXPECT_NEAR(nodes.wakes_at, 2.3, 1e-12);
  EXPECT_EQ(nodes.push(1, 2), "");
  EXPECT_NEAR(nodes.wakes_at, 2.2, 1e-12);
  EXPECT_EQ(nodes.push(2, 2), "");
  EXPECT_NEAR(nodes.wakes_at, 2.1, 1e-12);
  EXPECT_EQ(nodes.wake(2.09), "");
  EXPECT_EQ(nodes.wake(nodes.wakes_at), "012");
  EXPECT_EQ(nodes.push(3, 2.5), "3");  // they are too far off now
}

// Its own was 1.9 + 4 x 0.97.
TEST(Dasp, ADeadNodesDeadlineIsNotTheNextGroups) {
  FourNodes nodes("dasp:split=equal:beta=4");
  EXPECT_EQ(nodes.push(0, 1.9), "");
  EXPECT_EQ(nodes.lose(0, 1.95), "");
  EXPECT_EQ(nodes.push(1, 6), "");
  EXPECT_EQ(nodes.push(2, 6), "12");
}

/// All decisions of a run, as text.
std::vector<std::string> decisions_of(const std::string& strategy, std::vector<ToyWorker> nodes,
                                      std::uint64_t seed) {
  Toy toy(strategy, std::move(nodes), 64, seed);
  std::vector<std::string> texts;
  toy.on_decision = [&](const Decision& decision, Toy&) {
    dispatch(
        decision,
        [&](const Assign& d) {
          texts.push_back(fmt::format("go {} {} {}", d.worker, d.rows, d.rate));
        },
        [&](const ApplyPushes& d) {
          texts.push_back(
              fmt::format("apply_pushes {} {} {}", fmt::join(d.workers, ","), d.share, d.damping));
        },
        [&](const Reject& d) { texts.push_back(fmt::format("reject {}", d.worker)); },
        [](const auto&) {});
  };
  for (int epoch = 0; epoch < 2; ++epoch) toy.epoch(2000);
  return texts;
}

RC_GTEST_PROP(Dasp, EqualsBspAspAndSspAtItsLimits, (std::uint16_t seed)) {
  auto nodes = random_nodes();
  for (auto& node : nodes) node.suspect_at = 0;  // which dasp alone does not wait for
  for (const std::string split : {"equal", "speed"}) {
    const auto decisions = [&](const std::string& strategy) {
      return decisions_of(strategy + ":split=" + split, nodes, seed);
    };
    RC_ASSERT(decisions("dasp:beta=inf") == decisions("bsp"));
    RC_ASSERT(decisions("dasp:beta=0:tau-max=inf") == decisions("asp:staleness-lr=on"));
    RC_ASSERT(decisions("dasp:beta=0:tau-max=inf:s-clock=2") ==
              decisions("ssp:s=2:staleness-lr=on"));
  }
}

TEST(NodeTable, AllowsOnlyValidTransitions) {
  EXPECT_TRUE(is_legal(NodeState::sync, NodeState::suspect));
  EXPECT_TRUE(is_legal(NodeState::suspect, NodeState::sync));
  EXPECT_FALSE(is_legal(NodeState::dead, NodeState::suspect));
  EXPECT_TRUE(is_legal(NodeState::joining, NodeState::sync));
  EXPECT_TRUE(is_legal(NodeState::async, NodeState::bound));
  EXPECT_TRUE(is_legal(NodeState::catch_up, NodeState::sync));
  EXPECT_TRUE(is_legal(NodeState::dead, NodeState::joining));
  EXPECT_FALSE(is_legal(NodeState::dead, NodeState::sync));
  EXPECT_FALSE(is_legal(NodeState::sync, NodeState::joining));
  EXPECT_FALSE(is_legal(NodeState::dead, NodeState::dead));
}

TEST(Dasp, DoesNotWaitForASuspectNode) {
  const auto flushes_before_the_third = [](bool suspect) {
    PolicyConfig config;
    config.workers = 3;
    config.batch = 10;
    const auto choice = parse_strategy("dasp:beta=inf");
    config.values = choice.values;
    const auto policy = choice.strategy->make(config);
    for (int i = 0; i < 3; ++i) policy->on(Joined{i, {}});
    policy->on(EpochBegan{0, 1000, 0});
    if (suspect) policy->on(Suspected{2, true, 0.5});
    policy->on(Finished{0, 10, 1, 1});
    for (const Decision& decision : policy->on(Finished{1, 10, 1, 1})) {
      if (std::holds_alternative<ApplyPushes>(decision)) return true;
    }
    return false;
  };
  EXPECT_FALSE(flushes_before_the_third(false));
  EXPECT_TRUE(flushes_before_the_third(true));
}

TEST(NodeTable, ANewNodeStartsAtTheClockOfTheSlowest) {
  NodeTable table;
  table.join(0);
  table.join(1);
  for (int i = 1; i <= 5; ++i) table.push(0, i);
  for (int i = 1; i <= 3; ++i) table.push(1, i);
  table.join(2);
  EXPECT_EQ(table.at(2).clock, 3U);
  table.leave(1);
  table.push(2, 9);
  EXPECT_EQ(table.least_clock(), 4U);
}

}  // namespace
}  // namespace evener
