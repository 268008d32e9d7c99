#include "evener/runtime/epoch_ledger.h"

#include "tests/runtime/fakes.h"
#include <gtest/gtest.h>

#include "evener/core/error.h"

namespace evener {
namespace {

class EpochLedgerTest : public testing::Test {
 protected:
  EpochLedgerTest() {
    plan_.data = &data_;
    ledger_.open(plan_, position_);
  }

  Task task_of(int worker, std::size_t rows = 4) {
    Task task;
    task.worker = worker;
    task.parts.push_back({ledger_.rows().cut(worker, rows).value(), Step{}});
    return task;
  }

  Dataset data_ = small_data(12);
  EpochPlan plan_;
  Position position_;
  EpochLedger ledger_{2};
};

TEST_F(EpochLedgerTest, CountsRowsAndLosses) {
  ledger_.add_trained(task_of(0), 3, true);
  ledger_.add_trained(task_of(1), 4, false);
  EXPECT_EQ(position_.loss_sum, 7);
  EXPECT_EQ(position_.next_row, 8U);
  EXPECT_FALSE(ledger_.exhausted());
  ledger_.add_trained(task_of(0), 5, true);
  EXPECT_TRUE(ledger_.exhausted());
}

TEST_F(EpochLedgerTest, RowsOfARejectedPushAreTrainedAgain) {
  const Task task = task_of(0);
  ledger_.add_trained(task, 3, true);
  ledger_.add_trained(task_of(1), 4, true);
  ledger_.return_rejected(0);
  EXPECT_EQ(position_.loss_sum, 4);
  EXPECT_TRUE(ledger_.rows().has_behind());
  EXPECT_EQ(task_of(1).parts[0].slice.rows.data(), task.parts[0].slice.rows.data());
  EXPECT_FALSE(ledger_.rows().has_behind());
}

TEST_F(EpochLedgerTest, RowsOfALostWorkerAreTrainedAgainUnlessTheyAreMerged) {
  ledger_.add_trained(task_of(0), 3, true);
  ledger_.mark_merged(0);
  ledger_.add_trained(task_of(0), 4, true);
  const Task under_way = task_of(0);
  EXPECT_EQ(ledger_.return_lost(0, under_way.parts, 1), 8U);
  EXPECT_EQ(position_.loss_sum, 3);
  const Task again = task_of(1);
  EXPECT_THROW(ledger_.return_lost(1, again.parts, 1), Error) << "two workers failed on this batch";
}

TEST_F(EpochLedgerTest, LossesThatTheBatchDidNotCauseMayBeAnyNumber) {
  for (int i = 0; i < 20; ++i) {
    const Task task = task_of(0);
    EXPECT_EQ(ledger_.return_lost(0, task.parts, std::nullopt), 4U);
  }
  EXPECT_EQ(task_of(0).parts[0].slice.losses, 0);
}

TEST_F(EpochLedgerTest, AfterItIsClosedTheCallersPositionIsNotUsed) {
  ledger_.add_trained(task_of(0), 3, true);
  ledger_.close();
  position_ = {};
  EXPECT_EQ(ledger_.return_lost(0, {}, 1), 0U);
  EXPECT_EQ(ledger_.position().loss_sum, 3);
  EXPECT_EQ(position_.loss_sum, 0);
}

TEST(EpochLedger, HasNoRowsBeforeTheFirstEpoch) {
  EpochLedger ledger(1);
  EXPECT_THROW(ledger.rows(), Error);
  EXPECT_FALSE(ledger.exhausted());
  EXPECT_EQ(ledger.return_lost(0, {}, 1), 0U);
}

}  // namespace
}  // namespace evener
