#include "evener/cluster/parameter_server/worker_orders.h"

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

}  // namespace
}  // namespace evener
