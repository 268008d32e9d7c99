#include "tests/policy/toy.h"
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace evener {
namespace {

std::unique_ptr<Policy> make(const std::string& text, std::size_t rows = 0) {
  const auto choice = parse_strategy(text);
  PolicyConfig config;
  config.workers = 2;
  config.rows = rows;
  config.values = choice.values;
  return choice.strategy->make(config);
}

const WorkerTraits kCpu{"cpu:4", true, 4, 0};
const WorkerTraits kCard{"card", false, 1, 0};

TEST(Hogbatch, SmallBatchesInPlaceBesideLargeOnesOnACopy) {
  const auto policy = make("hogbatch:cpu-batch=2:accelerator-batch=512");
  EXPECT_TRUE(policy->on(Joined{0, kCpu}).empty());
  EXPECT_TRUE(policy->on(Joined{1, kCard}).empty());
  const Assign cpu{0, 2, 4, 1, Work::in_place}, card{1, 512, 1, 1, Work::copied};
  EXPECT_EQ(policy->on(EpochBegan{0, 10000}), (Decisions{cpu, card}));
  EXPECT_EQ(policy->on(Finished{0, 8, 0.1}), Decisions{cpu});
  EXPECT_EQ(policy->on(Finished{1, 512, 0.1}), Decisions{card});
  EXPECT_TRUE(policy->on(OutOfRows{0}).empty());
  // The card's rows are back: the idle CPU gets a batch.
  EXPECT_EQ(policy->on(Lost{1, 512}), Decisions{cpu});
}

TEST(AdaptiveHogbatch, AWorkerThatIsAheadGetsLargerBatchesAndOneBehindSmaller) {
  const auto policy =
      make("adaptive-hogbatch:preset=paper:rate-scaling=anchored:min-utilization=0");
  policy->on(Joined{0, kCpu});
  policy->on(Joined{1, kCard});
  policy->on(EpochBegan{0, 100000});
  // u = 4, 0: the CPU is ahead.
  EXPECT_EQ(policy->on(Finished{0, 4, 0.1}), (Decisions{Assign{0, 2, 4, 1, Work::in_place}}));
  // u = 4, 1: the card is behind, 1024 / 2.
  EXPECT_EQ(policy->on(Finished{1, 1024, 0.1}), (Decisions{Assign{1, 512, 1, 1, Work::copied}}));
  // u = 4, 2, then 3, then 4: no longer behind.
  EXPECT_EQ(policy->on(Finished{1, 512, 0.1}), (Decisions{Assign{1, 256, 1, 1, Work::copied}}));
  EXPECT_EQ(policy->on(Finished{1, 256, 0.1}), (Decisions{Assign{1, 128, 1, 1, Work::copied}}));
  EXPECT_EQ(policy->on(Finished{1, 128, 0.1}), (Decisions{Assign{1, 128, 1, 1, Work::copied}}));
}

// Batches of 256: a quarter is 64. A sixteenth of an epoch is divided among four threads.
TEST(Hogbatch, ACpuTrainsASmallPartOfAnEpochAtOnce) {
  for (const auto& [rows, expected] :
       {std::pair{100'000U, 64U}, std::pair{1600U, 25U}, std::pair{20U, 1U}}) {
    for (const char* strategy : {"hogbatch", "adaptive-hogbatch"}) {
      const auto policy = make(strategy, rows);
      policy->on(Joined{0, kCpu});
      policy->on(Joined{1, kCard});
      const auto decisions = policy->on(EpochBegan{0, rows});
      EXPECT_EQ(std::get<Assign>(decisions.at(0)).rows, expected) << strategy;
      EXPECT_EQ(std::get<Assign>(decisions.at(1)).rows, 256U) << strategy;
    }
    const auto given = make("hogbatch:cpu-batch=64", rows);
    given->on(Joined{0, kCpu});
    EXPECT_EQ(std::get<Assign>(given->on(EpochBegan{0, rows}).at(0)).rows, 64U);
  }
}

TEST(AdaptiveHogbatch, LostWritesCountAsFewerUpdates) {
  const auto policy =
      make("adaptive-hogbatch:preset=paper:rate-scaling=anchored:survival=0.25:min-utilization=0");
  policy->on(Joined{0, kCpu});
  policy->on(Joined{1, kCard});
  policy->on(EpochBegan{0, 100000});
  policy->on(Finished{1, 1024, 0.1});  // u = 0, 1: ahead, 2048
  // 4 threads of which one write in four survives: u = 1, 1.
  EXPECT_EQ(policy->on(Finished{0, 4, 0.1}), (Decisions{Assign{0, 1, 4, 1, Work::in_place}}));
}

TEST(AdaptiveHogbatch, KeepsAnAcceleratorBusyEnough) {
  const auto policy =
      make("adaptive-hogbatch:preset=paper:rate-scaling=anchored:min-utilization=0.5");
  policy->on(Joined{0, kCpu});
  policy->on(Joined{1, kCard});
  policy->on(EpochBegan{0, 100000});
  for (int i = 0; i < 50; ++i) policy->on(Finished{0, 4, 0.01});  // far ahead
  // 100 ms whatever the batch: 1024 rows give 10240 rows/s, 512 half of that, 256 a quarter.
  EXPECT_EQ(std::get<Assign>(policy->on(Finished{1, 1024, 0.1})[0]).rows, 512U);
  EXPECT_EQ(std::get<Assign>(policy->on(Finished{1, 512, 0.1})[0]).rows, 256U);
  EXPECT_EQ(std::get<Assign>(policy->on(Finished{1, 256, 0.1})[0]).rows, 512U);
  EXPECT_EQ(std::get<Assign>(policy->on(Finished{1, 512, 0.1})[0]).rows, 512U);
}

TEST(AdaptiveHogbatch, UpdatesBalanceWhereThoseOfHogbatchDiffer) {
  // A CPU of 16 threads beside an accelerator that is 10 times as fast a row as all of them.
  const std::vector<ToyWorker> pair{cpu_worker(16, 0.0016), {kCard, 0.001, 0.00001}};
  const auto ratio = [&](const std::string& strategy) {
    Toy toy(strategy, pair);
    EXPECT_TRUE(toy.epoch(400'000));
    return static_cast<double>(toy.updates[0]) / static_cast<double>(toy.updates[1]);
  };
  EXPECT_GT(ratio("hogbatch:preset=paper"), 5);
  const double adaptive =
      ratio("adaptive-hogbatch:preset=paper:rate-scaling=anchored:min-utilization=0");
  EXPECT_GT(adaptive, 0.5);
  EXPECT_LT(adaptive, 2);
}

RC_GTEST_PROP(AdaptiveHogbatch, BatchesStayInTheirBoundsAndEveryRowIsTrained, ()) {
  const int threads = *rc::gen::inRange(1, 32);
  std::vector<ToyWorker> workers{cpu_worker(threads, *rc::gen::inRange(1, 100) * 1e-5)};
  const int cards = *rc::gen::inRange(1, 4);
  for (int i = 0; i < cards; ++i) {
    workers.push_back({kCard, *rc::gen::inRange(1, 50) * 1e-4, *rc::gen::inRange(1, 100) * 1e-6});
    workers.back().jitter = 0.3;
  }
  if (*rc::gen::arbitrary<bool>()) workers.back().lost_at = 0.5;
  if (*rc::gen::arbitrary<bool>()) workers[0].joins_at = 0.2;
  Toy toy("adaptive-hogbatch:preset=paper", workers, 64, *rc::gen::arbitrary<std::uint64_t>());
  bool within = true;
  toy.on_decision = [&](const Decision& decision, Toy&) {
    const auto& assign = std::get<Assign>(decision);
    const bool cpu = assign.work == Work::in_place;
    within = within && assign.rows >= (cpu ? 1U : 64U) && assign.rows <= (cpu ? 64U : 8192U);
  };
  const std::size_t rows = static_cast<std::size_t>(*rc::gen::inRange(1, 60'000));
  for (int epoch = 0; epoch < 2 && toy.any_worker(); ++epoch) {
    RC_ASSERT(toy.epoch(rows) || !toy.any_worker());
    if (toy.any_worker()) RC_ASSERT(toy.trained == rows);
  }
  RC_ASSERT(within);
  RC_ASSERT(toy.legal);
}

RC_GTEST_PROP(AdaptiveHogbatch, SteadySpeedsTendToEqualUpdates, ()) {
  // Any pair whose speeds the bounds can level: the cost of the smallest batches decides.
  const double cpu_row = *rc::gen::inRange(20, 200) * 1e-5;
  const double card_row = *rc::gen::inRange(1, 20) * 1e-6;
  Toy toy(
      "adaptive-hogbatch:preset=paper:rate-scaling=anchored:min-utilization=0:cpu-max=4096:"
      "accelerator-min=1",
      {cpu_worker(4, cpu_row), {kCard, 1e-4, card_row}});
  RC_ASSERT(toy.epoch(2'000'000));
  const auto before = toy.updates;
  RC_ASSERT(toy.epoch(2'000'000));
  const double ratio = static_cast<double>(toy.updates[0] - before[0]) /
                       static_cast<double>(toy.updates[1] - before[1]);
  RC_ASSERT(ratio > 0.5);
  RC_ASSERT(ratio < 2.0);
}

TEST(Hogbatch, AutomaticBatchesFollowTheRunsBatchSize) {
  PolicyConfig config;
  config.workers = 2;
  config.batch = 512;
  for (const std::string name : {"hogbatch", "adaptive-hogbatch"}) {
    const auto choice = parse_strategy(name);
    config.values = choice.values;
    const auto policy = choice.strategy->make(config);
    policy->on(Joined{0, kCpu});
    policy->on(Joined{1, kCard});
    EXPECT_EQ(policy->on(EpochBegan{0, 100000}),
              (Decisions{Assign{0, 128, 4, 1, Work::in_place}, Assign{1, 512, 1, 1, Work::copied}}))
        << name;
  }
}

TEST(Hogbatch, AtTheEndOfAnEpochASlowWorkerGetsItsShare) {
  const auto policy = make("hogbatch:cpu-batch=16:accelerator-batch=256");
  policy->on(Joined{0, kCpu});
  policy->on(Joined{1, kCard});
  policy->on(EpochBegan{0, 1000});
  // The CPU trains 64 rows per second, the card 256. 1000 - 64 - 256 - 256 = 424 rows are left.
  EXPECT_EQ(policy->on(Finished{1, 256, 1}), (Decisions{Assign{1, 256, 1, 1, Work::copied}}));
  EXPECT_EQ(policy->on(Finished{0, 64, 1}), (Decisions{Assign{0, 16, 4, 1, Work::in_place}}));
  EXPECT_EQ(policy->on(Finished{1, 256, 1}), (Decisions{Assign{1, 256, 1, 1, Work::copied}}));
  // 104 are left, for which the card needs 0.4 s: a fifth of them, 20, for four threads.
  EXPECT_EQ(policy->on(Finished{0, 64, 1}), (Decisions{Assign{0, 5, 4, 1, Work::in_place}}));
  const auto whole = make("hogbatch:cpu-batch=16:accelerator-batch=256:tail=whole");
  whole->on(Joined{0, kCpu});
  whole->on(Joined{1, kCard});
  whole->on(EpochBegan{0, 330});
  EXPECT_EQ(whole->on(Finished{1, 256, 1}), (Decisions{Assign{1, 256, 1, 1, Work::copied}}));
  EXPECT_EQ(whole->on(Finished{0, 64, 1}), (Decisions{Assign{0, 16, 4, 1, Work::in_place}}));
}

TEST(Hogbatch, TheLastBusyWorkerTakesTheRestEvenIfItBecameSlower) {
  const auto policy = make("hogbatch:accelerator-batch=100");
  policy->on(Joined{0, kCard});
  policy->on(Joined{1, kCard});
  policy->on(EpochBegan{0, 301});
  policy->on(Finished{0, 100, 1});
  // One row is left. Worker 1 is the slower one and gets none of it.
  EXPECT_TRUE(policy->on(Finished{1, 100, 1.25}).empty());
  // Now worker 0 took so long that worker 1 is the faster one, but worker 1 is idle.
  EXPECT_EQ(policy->on(Finished{0, 100, 10}), (Decisions{Assign{0, 100, 1, 1, Work::copied}}));
}

RC_GTEST_PROP(Hogbatch, EveryRowIsTrainedWithASharedTail, ()) {
  std::vector<ToyWorker> workers;
  if (*rc::gen::arbitrary<bool>()) {
    workers.push_back(cpu_worker(*rc::gen::inRange(1, 32), *rc::gen::inRange(1, 100) * 1e-5));
  }
  const int cards = *rc::gen::inRange(1, 4);
  for (int i = 0; i < cards; ++i) {
    workers.push_back({kCard, *rc::gen::inRange(1, 50) * 1e-4, *rc::gen::inRange(1, 400) * 1e-6});
    workers.back().jitter = 0.3;
  }
  if (*rc::gen::arbitrary<bool>()) workers.back().lost_at = 0.5;
  if (*rc::gen::arbitrary<bool>()) workers[0].joins_at = 0.2;
  const std::string name = *rc::gen::element<std::string>("hogbatch", "adaptive-hogbatch");
  Toy toy(name, workers, 64, *rc::gen::arbitrary<std::uint64_t>());
  const auto rows = static_cast<std::size_t>(*rc::gen::inRange(1, 20'000));
  for (int epoch = 0; epoch < 3 && toy.any_worker(); ++epoch) {
    RC_ASSERT(toy.epoch(rows) || !toy.any_worker());
    if (toy.any_worker()) RC_ASSERT(toy.trained == rows);
  }
  RC_ASSERT(toy.legal);
}

}  // namespace
}  // namespace evener
