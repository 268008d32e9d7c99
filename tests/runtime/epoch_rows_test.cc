#include "evener/runtime/epoch_rows.h"

#include <map>

#include "tests/runtime/fakes.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace evener {
namespace {

std::vector<std::uint32_t> rows_of(const std::optional<Slice>& slice) {
  if (!slice) return {};
  return {slice->rows.begin(), slice->rows.end()};
}

EpochPlan plan_of(const Dataset& data, Balance balance = Balance::rows) {
  EpochPlan plan;
  plan.data = &data;
  plan.balance = balance;
  return plan;
}

class EpochRowsTest : public testing::Test {
 protected:
  Dataset data_ = small_data(20);
  EpochPlan plan_ = plan_of(data_);
  EpochRows rows_{plan_, 0, 0};
};

TEST_F(EpochRowsTest, AWorkerGetsItsReservedBatch) {
  rows_.cut(0, 4);
  const auto reserved = rows_of(rows_.reserve(0, 4));
  const auto others = rows_of(rows_.cut(1, 4));
  EXPECT_NE(others, reserved);
  EXPECT_EQ(rows_of(rows_.cut(0, 4)), reserved);
}

TEST_F(EpochRowsTest, RewindsOverTheLastRowsOnly) {
  rows_.cut(0, 4);
  const auto second = *rows_.cut(1, 4);
  const auto third = *rows_.cut(0, 4);
  rows_.reserve(0, 4);
  rows_.give_back(second, 9);
  EXPECT_FALSE(rows_.rewind()) << "the third batch is trained";
  EXPECT_EQ(rows_.next_row(), 16U);
  rows_.give_back(third, 9);
  EXPECT_TRUE(rows_.rewind());
  EXPECT_EQ(rows_.next_row(), 4U);
  EXPECT_FALSE(rows_.has_behind());
  EXPECT_EQ(rows_of(rows_.cut(0, 4)), rows_of(second));
}

TEST_F(EpochRowsTest, ReservedRowsDoNotAdvanceTheSchedule) {
  rows_.cut(0, 5);
  EXPECT_DOUBLE_EQ(rows_.share(), 0.25);
  rows_.reserve(0, 5);
  EXPECT_DOUBLE_EQ(rows_.share(), 0.25);
  EXPECT_FALSE(rows_.exhausted());
}

TEST_F(EpochRowsTest, AWorkerThatAsksForAnotherSizeGetsThatSize) {
  const auto reserved = rows_of(rows_.reserve(0, 4));
  EXPECT_EQ(rows_.cut(0, 6)->rows.size(), 6U);
  // The reserved rows make the next batch of their size.
  EXPECT_EQ(rows_of(rows_.cut(1, 4)), reserved);
}

TEST_F(EpochRowsTest, RowsReservedForAnotherWorkerAreUsedLast) {
  const auto reserved = rows_of(rows_.reserve(0, 8));
  EXPECT_EQ(rows_.cut(1, 12)->rows.size(), 12U);
  const auto taken = rows_.cut(1, 5);
  ASSERT_TRUE(taken);
  EXPECT_EQ(rows_of(taken), std::vector(reserved.begin(), reserved.begin() + 5));
  const auto rest = rows_.cut(0, 8);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->rows.size(), 3U);
  EXPECT_EQ(rest->nominal, 3U);
  EXPECT_FALSE(rows_.cut(1, 5));
  EXPECT_TRUE(rows_.exhausted());
}

TEST_F(EpochRowsTest, BeforeAPauseRowsBehindMakeWholeBatches) {
  const auto reserved = rows_of(rows_.reserve(0, 3));
  const auto slice = rows_.cut_behind(8);
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->rows.size(), 8U);
  EXPECT_EQ(std::vector(slice->rows.begin(), slice->rows.begin() + 3), reserved);
  EXPECT_EQ(rows_.next_row(), 8U);
  EXPECT_FALSE(rows_.cut_behind(8)) << "no rows are behind any more";
}

TEST_F(EpochRowsTest, ReturnedRowsGoFirst) {
  const auto first = rows_.cut(0, 4);
  rows_.give_back(*first, 1);
  EXPECT_FALSE(rows_.reserve(1, 4)) << "the returned rows come next";
  EXPECT_EQ(rows_of(rows_.cut(1, 2)), rows_of(first));
}

/// Workers that take batches, reserve, finish, fail and pause in a random order.
class RandomRun {
 public:
  RandomRun()
      : data_(small_data(*rc::gen::inRange<std::size_t>(1, 120).as("rows"))),
        plan_(plan_of(data_, *rc::gen::element(Balance::rows, Balance::nonzeros))) {
    rows_.emplace(plan_, 0, 0);
  }

  void run() {
    while (!finish_epoch()) {
      const int worker = *rc::gen::inRange(0, 3);
      if (at_work_.contains(worker)) {
        // Two failures on the same rows would end the run.
        const bool fails = at_work_[worker].losses == 0 && *rc::gen::inRange(0, 8) == 0;
        fails ? fail(worker) : finish(worker);
      } else {
        take(worker, *rc::gen::inRange<std::size_t>(1, 20), false);
      }
      if (*rc::gen::inRange(0, 12) == 0) pause();
    }
    for (const int count : trained_) RC_ASSERT(count == 1);
  }

 private:
  bool finish_epoch() const { return rows_->exhausted() && at_work_.empty(); }

  void take(int worker, std::size_t size, bool pausing) {
    const auto slice = pausing ? rows_->cut_behind(size) : rows_->cut(worker, size);
    // A worker gets a batch as long as rows are left.
    RC_ASSERT(slice.has_value() || !rows_->has_behind());
    RC_ASSERT(slice.has_value() || pausing || rows_->exhausted());
    if (!slice) return;
    RC_ASSERT(!slice->rows.empty());
    RC_ASSERT(plan_.balance == Balance::nonzeros || slice->losses > 0 ||
              slice->rows.size() <= size);
    at_work_[worker] = *slice;
    if (!pausing && *rc::gen::element(true, false)) rows_->reserve(worker, size);
  }
  void finish(int worker) {
    for (const std::uint32_t row : at_work_[worker].rows) ++trained_[row];
    at_work_.erase(worker);
  }
  void fail(int worker) {
    rows_->release(worker);
    rows_->give_back(at_work_[worker], 1);
    at_work_.erase(worker);
  }
  /// After it, exactly the rows before next_row are trained, and a new EpochRows continues there.
  void pause() {
    while (!at_work_.empty()) finish(at_work_.begin()->first);
    while (rows_->has_behind()) {
      take(0, 7, true);
      finish(0);
    }
    const auto order = shuffled_rows(data_.rows(), plan_.seed, 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
      RC_ASSERT(trained_[order[i]] == (i < rows_->next_row() ? 1 : 0));
    }
    rows_.emplace(plan_, 0, rows_->next_row());
  }

  Dataset data_;
  EpochPlan plan_;
  std::optional<EpochRows> rows_;
  std::map<int, Slice> at_work_;
  std::vector<int> trained_ = std::vector<int>(data_.rows());
};

RC_GTEST_PROP(EpochRowsProperty, EveryRowIsTrainedExactlyOnce, ()) {
  RandomRun().run();
}

}  // namespace
}  // namespace evener
