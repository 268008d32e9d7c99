#include "evener/runtime/sequential.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace evener {
namespace {

/// Remembers its steps; the loss of a batch is its first row's number.
class FakeReplica : public Replica {
 public:
  double step(const Batch& batch, const Step& step) override {
    batches.emplace_back(batch.rows.begin(), batch.rows.end());
    steps.push_back(step);
    return step.number == bad_step ? std::numeric_limits<double>::infinity()
                                   : static_cast<double>(batch.rows.front());
  }
  void predict(const Batch&, Predictions&) override {}
  int vectors() const override { return 1; }
  FloatBuffer take(int) override { return {}; }
  void give(int, FloatBuffer) override {}

  std::vector<std::vector<std::uint32_t>> batches;
  std::vector<Step> steps;
  std::uint64_t bad_step = 0;
};

Dataset ten_rows() {
  CsrArrays features, labels;
  for (std::uint32_t row = 0; row < 10; ++row) {
    features.indices.push_back(row % 4);
    features.values.push_back(1.0F);
    features.offsets.push_back(features.indices.size());
    labels.indices.push_back(0);
    labels.offsets.push_back(labels.indices.size());
  }
  return make_dataset(std::move(features), 4, std::move(labels), 1);
}

class Sequential : public testing::Test {
 protected:
  Sequential() : data_(ten_rows()) {
    plan_.data = &data_;
    plan_.batch_size = 4;
    plan_.seed = 7;
  }
  Dataset data_;
  EpochPlan plan_;
  FakeReplica replica_;
  Position position_;
};

bool go_on(const StepReport&) {
  return true;
}

TEST_F(Sequential, CutsAnEpochAndCountsIt) {
  EXPECT_TRUE(run_epoch(replica_, plan_, position_, go_on));
  ASSERT_EQ(replica_.batches.size(), 3U);
  EXPECT_EQ(replica_.batches[2].size(), 2U);
  EXPECT_EQ(position_.step, 3U);
  EXPECT_EQ(position_.next_row, 10U);
  EXPECT_EQ(position_.epoch, 0U);
  double sum = 0;
  std::vector<std::uint32_t> rows;
  for (const auto& batch : replica_.batches) {
    sum += static_cast<double>(batch.size()) * batch.front();
    rows.insert(rows.end(), batch.begin(), batch.end());
  }
  EXPECT_EQ(position_.loss_sum, sum);
  EXPECT_EQ(rows, shuffled_rows(10, 7, 0));
}

TEST_F(Sequential, GoesOnWhereItStopped) {
  EXPECT_FALSE(run_epoch(replica_, plan_, position_, [](const StepReport&) { return false; }));
  EXPECT_EQ(position_.next_row, 4U);
  FakeReplica whole;
  Position other;
  run_epoch(whole, plan_, other, go_on);
  EXPECT_TRUE(run_epoch(replica_, plan_, position_, go_on));
  EXPECT_EQ(replica_.batches, whole.batches);
  EXPECT_EQ(position_.loss_sum, other.loss_sum);
  // A finished epoch has nothing left.
  EXPECT_TRUE(run_epoch(replica_, plan_, position_, go_on));
  EXPECT_EQ(replica_.batches.size(), 3U);
}

TEST_F(Sequential, StopAfterTheLastBatchIsStillAWholeEpoch) {
  position_.next_row = 8;
  EXPECT_TRUE(run_epoch(replica_, plan_, position_, [](const StepReport&) { return false; }));
}

TEST_F(Sequential, TrainsOnTheGivenRowsOnly) {
  const std::vector<std::uint32_t> rows{9, 3, 5};
  plan_.rows = rows;
  run_epoch(replica_, plan_, position_, go_on);
  ASSERT_EQ(replica_.batches.size(), 1U);
  auto seen = replica_.batches[0];
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{3, 5, 9}));
}

TEST_F(Sequential, RateFollowsTheFractionOfTheEpoch) {
  plan_.schedule.decay = Decay::step;
  plan_.schedule.decay_epochs = 0.5;
  plan_.schedule.decay_factor = 0.5F;
  plan_.schedule.learning_rate = 1;
  position_.epoch = 1;
  run_epoch(replica_, plan_, position_, go_on);
  for (std::size_t i = 0; i < 3; ++i) {
    const double epoch = 1 + 4.0 * static_cast<double>(i) / 10;
    EXPECT_EQ(replica_.steps[i].learning_rate, learning_rate_at(plan_.schedule, epoch)) << i;
  }
  EXPECT_NE(replica_.steps[0].learning_rate, replica_.steps[2].learning_rate);
}

TEST_F(Sequential, AnInfiniteLossEndsIt) {
  replica_.bad_step = 2;
  EXPECT_THROW(run_epoch(replica_, plan_, position_, go_on), DivergedError);
  EXPECT_EQ(position_.step, 1U);
}

}  // namespace
}  // namespace evener
