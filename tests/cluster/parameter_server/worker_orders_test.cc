#include "evener/cluster/parameter_server/worker_orders.h"

#include <limits>

#include <gtest/gtest.h>

namespace evener {
namespace {

Task task_of(int worker) {
  Task task;
  task.worker = worker;
  return task;
}

// A batch that many workers are lost with ends the run: it is the likely cause. A worker that is
// stopped by its user, or that never received the batch, says nothing about the batch.
TEST(WorkerOrders, ABatchIsBlamedOnlyIfItsWorkerWasLostWhileItHadTheBatch) {
  WorkerOrders orders(2);
  ASSERT_TRUE(orders.assign(task_of(0), 1, 1, 0));
  orders.lose(0, "killed", false);
  EXPECT_FALSE(orders.take_arrival()->blameless);

  ASSERT_TRUE(orders.assign(task_of(0), 1, 2, 0));
  orders.lose(0, "stopped by a signal", true);
  EXPECT_TRUE(orders.take_arrival()->blameless);

  orders.lose(1, "killed", false);
  EXPECT_FALSE(orders.assign(task_of(1), 1, 1, 0)) << "it was lost before";
  EXPECT_TRUE(orders.take_arrival()->blameless);
}

// Under load, the scheduler may see that a worker has joined after another one has replaced it.
TEST(WorkerOrders, AWorkerWhoseLossIsNotYetKnownGetsNoOrder) {
  WorkerOrders orders(2);
  orders.lose(1, "killed", false);
  orders.put(MembershipChange{MembershipChange::Kind::joined, 1, "", 0});
  orders.lose(1, "killed again", false);
  orders.put(MembershipChange{MembershipChange::Kind::joined, 1, "", 0});
  EXPECT_EQ(orders.take_change()->kind, MembershipChange::Kind::lost);
  EXPECT_EQ(orders.take_change()->kind, MembershipChange::Kind::joined);
  EXPECT_FALSE(orders.assign(task_of(1), 1, 3, 0)) << "the worker that has joined is lost";
  EXPECT_FALSE(orders.take_change());
  EXPECT_EQ(orders.take_arrival()->failure, "killed again");
  EXPECT_EQ(orders.take_change()->kind, MembershipChange::Kind::joined);
  EXPECT_TRUE(orders.assign(task_of(1), 1, 3, 0));
  EXPECT_THROW(orders.assign(task_of(1), 1, 3, 0), Error) << "it has a task";
}

// A time that is no number would decide about the batch sizes of all workers.
TEST(WorkerSlot, APushWhoseTimeIsNotANumberOfSecondsIsInvalid) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  WorkerSlot slot;
  for (const double compute : {0.5, kNan, kInfinite, -1.0, 0.25}) {
    wire::Push push;
    push.set_sequence(slot.assign(task_of(0), 1, 1, 0).sequence());
    push.set_generation(1);
    push.set_compute(compute);
    ASSERT_TRUE(slot.expects(push));
    EXPECT_FALSE(slot.push_arrived(push, 1));
    wire::Pushed part;
    part.set_sequence(push.sequence());
    part.set_generation(1);
    const auto arrival = slot.part_arrived(part, 1);
    ASSERT_TRUE(arrival);
    const bool valid = compute > 0 && compute < 1;
    EXPECT_EQ(arrival->invalid.empty(), valid) << compute;
    EXPECT_EQ(arrival->stats.compute, valid ? compute : 0);
  }
}

}  // namespace
}  // namespace evener
