#include "tests/policy/toy.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "evener/policy/batch_pieces.h"

namespace evener {
namespace {

std::unique_ptr<Policy> make(const std::string& text, int workers, std::size_t batch) {
  const auto choice = parse_strategy(text);
  PolicyConfig config;
  config.workers = workers;
  config.batch = batch;
  config.values = choice.values;
  auto policy = choice.strategy->make(config);
  for (int i = 0; i < workers; ++i) policy->on(Joined{i, {"card", false, 1, 0}});
  return policy;
}

/// A part of an update of so many rows.
Assign part(int worker, std::size_t rows, std::size_t of) {
  return {.worker = worker, .rows = rows, .work = Work::gradient, .update_rows = of};
}

TEST(Sync, OneUpdateFromEqualPartsOfEachBatch) {
  const auto policy = make("sync", 2, 256);
  const Assign first = part(0, 128, 256), second = part(1, 128, 256);
  EXPECT_EQ(policy->on(EpochBegan{0, 1000}), (Decisions{first, second}));
  EXPECT_TRUE(policy->on(Finished{1, 128, 0.1}).empty()) << "the fast wait for the slow";
  EXPECT_EQ(policy->on(Finished{0, 128, 0.4}), (Decisions{Apply{{0.5, 0.5}}, first, second}));
}

TEST(Sync, TheLastPartsOfAnEpochWeighByTheirRows) {
  const auto policy = make("sync", 2, 256);
  policy->on(EpochBegan{0, 160});
  policy->on(Finished{0, 128, 0.1});
  const Decisions decisions = policy->on(Finished{1, 32, 0.1});
  EXPECT_EQ(std::get<Apply>(decisions[0]), (Apply{{0.8, 0.2}}));
  EXPECT_TRUE(policy->on(OutOfRows{0}).empty());
  EXPECT_TRUE(policy->on(OutOfRows{1}).empty());
  EXPECT_TRUE(policy->on(EpochEnded{}).empty()) << "nothing is left to apply";
}

TEST(Sync, ALostWorkerIsNotWaitedFor) {
  const auto policy = make("sync", 2, 256);
  policy->on(EpochBegan{0, 1000});
  policy->on(Finished{0, 128, 0.1});
  EXPECT_EQ(policy->on(Lost{1, 128}), (Decisions{Apply{{1, 0}}, part(0, 128, 256)}));
}

TEST(Sync, PartsBySpeedAddUpToTheBatchAndTakeEquallyLong) {
  const auto policy = make("sync:split=speed", 3, 256);
  const auto parts = [](const Decisions& decisions) {
    std::vector<std::size_t> rows;
    for (const auto& decision : decisions) {
      if (const auto* assign = std::get_if<Assign>(&decision)) rows.push_back(assign->rows);
    }
    return rows;
  };
  const std::vector<double> per_row{1e-3, 2e-3, 4e-3};
  policy->on(EpochBegan{0, 100'000});
  // No speed is known yet: sixteen pieces of 16 go to free workers.
  for (int piece = 0; piece < 14; ++piece) policy->on(Finished{0, 16, 16 * per_row[0]});
  policy->on(Finished{1, 16, 16 * per_row[1]});
  std::vector<std::size_t> rows = parts(policy->on(Finished{2, 16, 16 * per_row[2]}));
  EXPECT_EQ(rows, (std::vector<std::size_t>{146, 73, 37}));
  for (int round = 0; round < 3; ++round) {
    Decisions next;
    for (int i = 0; i < 3; ++i) {
      const std::size_t n = rows[static_cast<std::size_t>(i)];
      next =
          policy->on(Finished{i, n, static_cast<double>(n) * per_row[static_cast<std::size_t>(i)]});
    }
    rows = parts(next);
    EXPECT_EQ(rows, (std::vector<std::size_t>{146, 73, 37}));
  }
  const Decisions after = policy->on(Lost{0, 146});
  EXPECT_TRUE(parts(after).empty()) << "the others are still at work";
  policy->on(Finished{1, 73, 0.146});
  EXPECT_EQ(parts(policy->on(Finished{2, 37, 0.148})), (std::vector<std::size_t>{171, 85}));
}

TEST(Sync, UntilSpeedsAreKnownPiecesGoToTheFreeWorker) {
  const auto policy = make("sync:split=speed", 2, 160);
  const auto piece = [](int worker) { return Decision{part(worker, 10, 160)}; };
  EXPECT_EQ(policy->on(EpochBegan{0, 100'000}), (Decisions{piece(0), piece(1)}));
  for (int left = 14; left > 0; --left) {
    EXPECT_EQ(policy->on(Finished{0, 10, 0.01}), Decisions{piece(0)});
  }
  EXPECT_TRUE(policy->on(Finished{0, 10, 0.01}).empty()) << "the last piece is under way";
  const Decisions end = policy->on(Finished{1, 10, 0.15});
  EXPECT_EQ(end,
            (Decisions{Apply{{150.0 / 160, 10.0 / 160}}, part(0, 150, 160), part(1, 10, 160)}));
}

TEST(Sync, PiecesAreEqualAboutTwentyAndLeaveFewRows) {
  for (std::size_t batch = 1; batch < 2000; ++batch) {
    for (const std::size_t workers : {2, 3, 8, 40}) {
      const BatchPieces deal = split_into_pieces(batch, workers);
      EXPECT_GE(deal.rows, 1U);
      EXPECT_GE(deal.pieces, workers);
      EXPECT_LE(deal.pieces, std::max<std::size_t>(24, workers));
      if (batch < workers) continue;
      EXPECT_LE(deal.rows * deal.pieces, batch);
      EXPECT_LT(batch - deal.rows * deal.pieces, workers == 40 ? 40U : 16U) << batch;
    }
  }
  EXPECT_EQ(split_into_pieces(256, 2).rows, 16U);
  EXPECT_EQ(split_into_pieces(100, 2).rows, 5U);
}

TEST(Elastic, PullsEveryPeriodSteps) {
  const auto policy = make("elastic:preset=paper:period=2", 3, 64);
  const auto go = [](int worker) { return Decision{Assign{worker, 64, 1, 1, Work::local}}; };
  EXPECT_EQ(policy->on(EpochBegan{0, 10000}), (Decisions{go(0), go(1), go(2)}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(policy->on(Finished{i, 64, 0.1}), Decisions{go(i)});
  EXPECT_TRUE(policy->on(Finished{0, 64, 0.1}).empty());
  EXPECT_TRUE(policy->on(Finished{1, 64, 0.1}).empty());
  const Decisions end = policy->on(Finished{2, 64, 0.1});
  ASSERT_EQ(end.size(), 4U);
  EXPECT_EQ(std::get<ElasticAverage>(end[0]).pull, 0.9 / 3);
  EXPECT_EQ(std::get<ElasticAverage>(end[0]).momentum, 0);
}

TEST(Elastic, ByDefaultADeviceHasItsPartOfABatch) {
  for (const std::string name : {"elastic", "sma"}) {
    const auto policy = make(name, 4, 64);
    const Decisions first = policy->on(EpochBegan{0, 10000});
    ASSERT_EQ(first.size(), 4U) << name;
    EXPECT_EQ(std::get<Assign>(first[0]).rows, 16U) << name;
    EXPECT_EQ(std::get<Assign>(first[0]).update_rows, 64U) << name;
  }
}

TEST(Sma, AveragesAfterEveryStepWithMomentum) {
  Toy toy("sma:preset=paper", {replica_worker(1e-4), replica_worker(1e-4)}, 64);
  EXPECT_TRUE(toy.epoch(1280));
  EXPECT_EQ(toy.elastic_averages, std::vector<ElasticAverage>(10, ElasticAverage{0.5, 0.9}));
  Toy released("sma:preset=released", {replica_worker(1e-4), replica_worker(1e-4)}, 64);
  EXPECT_TRUE(released.epoch(128));
  EXPECT_EQ(released.elastic_averages, (std::vector{ElasticAverage{0.5, 0.9}}));
}

TEST(LocalSgd, AveragesEveryPeriodStepsWithOuterMomentum) {
  for (const double momentum : {0.0, 0.5}) {
    Toy toy(fmt::format("local-sgd:period=4:outer-momentum={}", momentum),
            {replica_worker(1e-4), replica_worker(3e-4)}, 64);
    EXPECT_TRUE(toy.epoch(640));  // ten steps of 32 rows each: rounds of 4, 4 and 2
    ASSERT_EQ(toy.merges.size(), 3U);
    for (const Merge& merge : toy.merges) {
      EXPECT_EQ(merge.weights, (std::vector{0.5, 0.5}));
      EXPECT_EQ(merge.momentum, momentum);
    }
    EXPECT_EQ(toy.updates[0] + toy.updates[1], 20U);
  }
}

TEST(LocalSgd, AWorkerThatDidNothingInARoundHasNoWeight) {
  Toy toy("local-sgd:period=2", {replica_worker(1e-4), replica_worker(1e-4)}, 128);
  EXPECT_TRUE(toy.epoch(64));  // rows for one
  ASSERT_EQ(toy.merges.size(), 1U);
  EXPECT_EQ(toy.merges[0].weights, (std::vector{1.0, 0.0}));
}

RC_GTEST_PROP(Rounds, EveryRowIsTrainedOnceAndMergesFindAllIdle, ()) {
  const std::string strategy = *rc::gen::element<std::string>(
      "sync", "sync:split=speed", "elastic", "sma", "local-sgd:period=3:outer-momentum=0.5");
  const int count = *rc::gen::inRange(1, 6);
  std::vector<ToyWorker> workers;
  for (int i = 0; i < count; ++i) {
    workers.push_back(replica_worker(*rc::gen::inRange(1, 100) * 1e-5));
    workers.back().jitter = 0.5;
    if (*rc::gen::inRange(0, 4) == 0) workers.back().lost_at = *rc::gen::inRange(1, 100) * 1e-3;
    if (*rc::gen::inRange(0, 4) == 0) workers.back().joins_at = *rc::gen::inRange(1, 50) * 1e-3;
  }
  workers[0].joins_at = 0;
  Toy toy(strategy, workers, static_cast<std::size_t>(*rc::gen::inRange(1, 300)),
          *rc::gen::arbitrary<std::uint64_t>());
  const auto rows = static_cast<std::size_t>(*rc::gen::inRange(1, 20'000));
  for (int epoch = 0; epoch < 2 && toy.any_worker(); ++epoch) {
    RC_ASSERT(toy.epoch(rows) || !toy.any_worker());
    if (toy.any_worker()) RC_ASSERT(toy.trained == rows);
  }
  RC_ASSERT(toy.legal);
  RC_ASSERT(toy.all_idle_at_merges);
  for (const auto& apply : toy.applies) {
    double sum = 0;
    for (const double weight : apply.weights) sum += weight;
    RC_ASSERT(std::abs(sum - 1) < 1e-9);
  }
}

TEST(Sync, BySpeedAWorkerThatIsTooSlowIsDemoted) {
  Toy toy("sync:split=speed", {replica_worker(1e-3), replica_worker(2e-3), replica_worker(0.1)},
          256);
  ASSERT_TRUE(toy.epoch(20'000));
  EXPECT_EQ(toy.trained, 20'000U);
  ASSERT_EQ(toy.notes.size(), 1U);
  EXPECT_NE(toy.notes.front().find("is demoted"), std::string::npos);
  EXPECT_EQ(toy.updates[2], 10U);  // rounds after which its part was too small
  // The other two share by speed, and a worker at half speed is kept. The first batch was assigned
  // in pieces, and the last rows may be one part.
  EXPECT_LE(toy.updates[0] - toy.updates[1], split_into_pieces(256, 3).pieces);
}

}  // namespace
}  // namespace evener
