#include "tests/policy/toy.h"
#include <gtest/gtest.h>

namespace evener {
namespace {

TEST(OneShot, AveragesOnceAnEpochByRows) {
  // The first worker needs a quarter of the second one's time for a row.
  Toy toy("one-shot", {replica_worker(1e-4, 0), replica_worker(4e-4, 0)}, 10);
  EXPECT_TRUE(toy.epoch(100));
  EXPECT_EQ(toy.merges, (std::vector{Merge{{0.8, 0.2}}}));
  EXPECT_TRUE(toy.legal);
  EXPECT_TRUE(toy.all_idle_at_merges);
}

TEST(OneShot, WithEqualWeightsRowsDoNotCount) {
  Toy toy("one-shot:weights=equal", {replica_worker(1e-4, 0), replica_worker(4e-4, 0)}, 10);
  EXPECT_TRUE(toy.epoch(100));
  EXPECT_EQ(toy.merges, (std::vector{Merge{{0.5, 0.5}}}));
}

TEST(OneShot, TheRowsOfALostWorkerAreTrainedByAnother) {
  ToyWorker failing = replica_worker(1e-4);
  failing.lost_at = 0.01;
  Toy toy("one-shot", {replica_worker(1e-4), failing}, 10);
  EXPECT_TRUE(toy.epoch(1000));
  EXPECT_EQ(toy.trained, 1000U);
  EXPECT_EQ(toy.merges, (std::vector{Merge{{1, 0}}}));
}

}  // namespace
}  // namespace evener
