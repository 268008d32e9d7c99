// Demotion: devices that cost more than they bring are left out.
#include "evener/policy/trials.h"

#include "tests/policy/toy.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace evener {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kAuto =
    "adaptive-sgd:mega-batch=20:scaler=throughput:perturbation=off:gamma=0:demotion=on";

/// Time for an epoch of 200 batches by these workers, after one that settled who trains.
double settled_epoch(std::vector<ToyWorker> workers, Toy** out = nullptr,
                     const std::string& strategy = kAuto) {
  static std::unique_ptr<Toy> toy;
  toy = std::make_unique<Toy>(strategy, std::move(workers), 64);
  toy->merge_seconds = 0.01;
  EXPECT_TRUE(toy->epoch(200 * 64));
  const double before = toy->now;
  EXPECT_TRUE(toy->epoch(200 * 64));
  if (out != nullptr) *out = toy.get();
  return toy->now - before;
}

TEST(Trials, AnEqualPairStays) {
  const double alone = settled_epoch({replica_worker(1e-3)});
  Toy* toy = nullptr;
  EXPECT_LT(settled_epoch({replica_worker(1e-3), replica_worker(1e-3)}, &toy), 0.6 * alone);
  ASSERT_EQ(toy->notes.size(), 2U);
  EXPECT_THAT(toy->notes[0], HasSubstr("rows/s"));
  EXPECT_EQ(toy->notes[1], "decided: all devices train");
}

TEST(Trials, ADeviceThatBringsTooLittleIsDemotedAndTheOtherIsNotSlowedDown) {
  const double alone = settled_epoch({replica_worker(1e-3)});
  for (const double slowness : {4.0, 10.0, 50.0}) {
    Toy* toy = nullptr;
    const double pair =
        settled_epoch({replica_worker(1e-3 * slowness), replica_worker(1e-3)}, &toy);
    EXPECT_LT(pair, 1.01 * alone) << slowness;
    ASSERT_EQ(toy->notes.size(), 2U);
    EXPECT_THAT(toy->notes[1], HasSubstr("is demoted"));
    const auto tasks = toy->updates;
    EXPECT_TRUE(toy->epoch(64 * 100));
    EXPECT_EQ(toy->updates[0], tasks[0]) << "it is given nothing more";
  }
}

// The pair trains more rows a second than one alone, but not so many that averaging pays: speeds
// add up to enough, and merges take it away.
TEST(Trials, APairWhoseMergesCostTooMuchIsNotWorthIt) {
  for (const double worth : {1.2, 1.4}) {
    Toy toy(kAuto + fmt::format(":worth={}", worth), {replica_worker(1e-3), replica_worker(1e-3)},
            64);
    toy.merge_seconds = 1.2;
    EXPECT_TRUE(toy.epoch(400 * 64));
    ASSERT_EQ(toy.notes.size(), 2U);
    EXPECT_THAT(toy.notes[1], HasSubstr(worth < 1.3 ? "all devices train" : "is demoted"));
  }
}

TEST(Trials, OfThreeTheTwoThatAreWorthItStay) {
  Toy* toy = nullptr;
  settled_epoch({replica_worker(1e-3), replica_worker(0.05), replica_worker(1.1e-3)}, &toy);
  const auto before = toy->updates;
  EXPECT_TRUE(toy->epoch(64 * 100));
  EXPECT_GT(toy->updates[0], before[0]);
  EXPECT_EQ(toy->updates[1], before[1]);
  EXPECT_GT(toy->updates[2], before[2]);
  EXPECT_EQ(toy->merges.back().weights[1], 0);
}

TEST(Trials, AreRepeatedWhereDevicesBecomeSlow) {
  Trials trials(true, 1.4);
  trials.join(0, "a");
  trials.join(1, "b");
  trials.epoch_began(0);
  double now = 0;
  const auto mega_batch = [&](double seconds, double b_seconds = 1.5) {
    for (const int worker : trials.active()) {
      trials.finished({worker, 50, worker == 0 ? 1 : b_seconds}, true);
    }
    return trials.merged(now += seconds, 50);
  };
  EXPECT_TRUE(trials.looking());
  EXPECT_THAT(mega_batch(9), IsEmpty());
  EXPECT_TRUE(trials.looking()) << "one batch each is not enough";
  EXPECT_THAT(mega_batch(9), IsEmpty());
  EXPECT_FALSE(trials.looking());
  EXPECT_THAT(trials.active(), ElementsAre(0, 1));
  mega_batch(1);
  EXPECT_THAT(trials.active(), ElementsAre(0));
  EXPECT_EQ(mega_batch(1).size(), 2U);
  EXPECT_THAT(trials.active(), ElementsAre(0, 1));
  EXPECT_FALSE(trials.alone());
  for (int i = 0; i < 2; ++i) EXPECT_THAT(mega_batch(3), IsEmpty());
  EXPECT_THAT(mega_batch(1), IsEmpty()) << "slow for a moment is nothing";
  for (int i = 0; i < 2; ++i) EXPECT_THAT(mega_batch(3), IsEmpty());
  EXPECT_THAT(mega_batch(3), ElementsAre(HasSubstr("trying again")));
  mega_batch(3, 5);
  EXPECT_THAT(mega_batch(3, 5),
              ElementsAre("measured: a 50 rows/s; b 10 rows/s", HasSubstr("b is demoted")));
  EXPECT_TRUE(trials.alone());
  EXPECT_THAT(trials.active(), ElementsAre(0));
  trials.leave(0);
  EXPECT_THAT(trials.active(), ElementsAre(1)) << "whoever is left trains";
}

TEST(Trials, ALeftoverOfTheEpochIsNoLook) {
  Trials trials(true, 1.4);
  trials.join(0, "a");
  trials.join(1, "b");
  for (int i = 0; i < 2; ++i) trials.finished({0, 50, 1}, true);
  trials.finished({1, 50, 1}, true);
  trials.finished({1, 3, 1}, false);
  EXPECT_FALSE(trials.looked());
  trials.finished({1, 50, 1}, true);
  EXPECT_TRUE(trials.looked());
}

TEST(Trials, OffTheyLeaveEverybodyIn) {
  Trials trials(false, 1.4);
  trials.join(0, "a");
  trials.join(1, "b");
  trials.finished({0, 100, 1}, true);
  EXPECT_FALSE(trials.looking());
  EXPECT_THAT(trials.merged(1, 100), IsEmpty());
  EXPECT_THAT(trials.active(), ElementsAre(0, 1));
  EXPECT_FALSE(trials.alone());
}

RC_GTEST_PROP(Trials, EveryRowIsTrainedWhateverTheSpeedsAndWhoeverIsLost, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 5);
  std::vector<ToyWorker> workers;
  for (std::size_t i = 0; i < count; ++i) {
    ToyWorker worker = replica_worker(*rc::gen::inRange(1, 2000) * 1e-5);
    worker.jitter = *rc::gen::inRange(0, 50) / 100.0;
    if (i > 0 && *rc::gen::inRange(0, 3) == 0) worker.lost_at = *rc::gen::inRange(1, 400) / 10.0;
    workers.push_back(worker);
  }
  Toy toy(kAuto, workers, 64, *rc::gen::arbitrary<std::uint64_t>());
  toy.merge_seconds = *rc::gen::inRange(0, 50) / 100.0;
  const auto rows = *rc::gen::inRange<std::size_t>(1, 20000);
  for (int epoch = 0; epoch < 3; ++epoch) {
    RC_ASSERT(toy.epoch(rows));
    RC_ASSERT(toy.trained == rows);
  }
  RC_ASSERT(toy.legal);
  RC_ASSERT(toy.all_idle_at_merges);
}

}  // namespace
}  // namespace evener
