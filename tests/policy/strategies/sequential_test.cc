#include "tests/policy/toy.h"
#include <gtest/gtest.h>

namespace evener {
namespace {

TEST(Sequential, OneBatchAfterTheOther) {
  Toy toy("sequential", {replica_worker(1e-4)}, 100);
  EXPECT_TRUE(toy.epoch(250));
  ASSERT_EQ(toy.tasks.size(), 3U);
  EXPECT_EQ(toy.tasks[0].assign, (Assign{0, 100, 1, 1, Work::local}));
  EXPECT_EQ(toy.tasks[2].rows, 50U);
  EXPECT_TRUE(toy.merges.empty());
}

TEST(Hogwild, EveryThreadTakesItsOwnRowsInPlace) {
  Toy toy("hogwild:cpu-batch=3", {cpu_worker(4, 1e-4), cpu_worker(2, 1e-4)}, 64);
  EXPECT_TRUE(toy.epoch(180));
  EXPECT_EQ(toy.tasks[0].assign.work, Work::in_place);
  EXPECT_EQ(toy.tasks[0].assign.rows, 3U);
  EXPECT_EQ(toy.trained, 180U);
  EXPECT_GT(toy.updates[0], toy.updates[1]);
}

TEST(WorkerSet, BatchesStayWithinADevicesMemory) {
  ToyWorker small = replica_worker(1e-4);
  small.traits.most_rows = 10;
  Toy toy("sequential", {small}, 100);
  EXPECT_TRUE(toy.epoch(35));
  EXPECT_EQ(toy.tasks.size(), 4U);
}

}  // namespace
}  // namespace evener
