#include "evener/nn/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "evener/core/error.h"

namespace evener {
namespace {

TEST(Schedule, ConstantStaysAsItIs) {
  const Schedule schedule{.learning_rate = 0.5F};
  for (const double epoch : {0.0, 0.3, 5.0, 1000.0}) {
    EXPECT_FLOAT_EQ(learning_rate_at(schedule, epoch), 0.5F);
  }
}

TEST(Schedule, WarmUpIsALineThatStartsAboveZero) {
  const Schedule schedule{.learning_rate = 0.4F, .warmup_epochs = 2};
  EXPECT_GT(learning_rate_at(schedule, 0), 0);
  EXPECT_LT(learning_rate_at(schedule, 0), 0.001F);
  EXPECT_FLOAT_EQ(learning_rate_at(schedule, 0.5), 0.1F);
  EXPECT_FLOAT_EQ(learning_rate_at(schedule, 1.5), 0.3F);
  EXPECT_FLOAT_EQ(learning_rate_at(schedule, 2), 0.4F);
  EXPECT_FLOAT_EQ(learning_rate_at(schedule, 7), 0.4F);
}

TEST(Schedule, StepDecay) {
  const Schedule schedule{
      .learning_rate = 1, .decay = Decay::step, .decay_epochs = 3, .decay_factor = 0.5F};
  EXPECT_FLOAT_EQ(learning_rate_at(schedule, 2.99), 1);
  EXPECT_FLOAT_EQ(learning_rate_at(schedule, 3), 0.5F);
  EXPECT_FLOAT_EQ(learning_rate_at(schedule, 5.99), 0.5F);
  EXPECT_FLOAT_EQ(learning_rate_at(schedule, 6), 0.25F);
}

TEST(Schedule, CosineRunsFromTheEndOfWarmUpToTheEnd) {
  const Schedule schedule{.learning_rate = 1,
                          .warmup_epochs = 2,
                          .decay = Decay::cosine,
                          .decay_factor = 0.2F,
                          .total_epochs = 10};
  EXPECT_FLOAT_EQ(learning_rate_at(schedule, 1), 0.5F);
  EXPECT_FLOAT_EQ(learning_rate_at(schedule, 2), 1);
  EXPECT_FLOAT_EQ(learning_rate_at(schedule, 6), 0.6F);  // half-way: mean of 1 and 0.2
  EXPECT_NEAR(learning_rate_at(schedule, 4), 0.2 + 0.8 * (1 + 0.70710678) / 2, 1e-6);
  EXPECT_FLOAT_EQ(learning_rate_at(schedule, 10), 0.2F);
  EXPECT_FLOAT_EQ(learning_rate_at(schedule, 50), 0.2F);
}

TEST(Schedule, CosineWithoutRoomAfterWarmUpIsAtItsEnd) {
  const Schedule schedule{.learning_rate = 1,
                          .warmup_epochs = 2,
                          .decay = Decay::cosine,
                          .decay_factor = 0.1F,
                          .total_epochs = 2};
  EXPECT_FLOAT_EQ(learning_rate_at(schedule, 2), 0.1F);
}

TEST(ScheduleByTime, CosineFollowsTheTimeHoweverManyEpochsItIs) {
  const Schedule schedule{
      .learning_rate = 1, .decay = Decay::cosine, .decay_factor = 0.2F, .total_epochs = 0};
  for (const double epoch : {0.0, 0.1, 3.0, 1000.0}) {
    EXPECT_FLOAT_EQ(learning_rate_at(schedule, epoch, 0.0), 1);
    EXPECT_FLOAT_EQ(learning_rate_at(schedule, epoch, 0.5), 0.6F);
    EXPECT_FLOAT_EQ(learning_rate_at(schedule, epoch, 1.0), 0.2F);
  }
}

// A run of equal speed all along has the rates of a run of as many epochs.
TEST(ScheduleByTime, AtConstantSpeedItIsTheScheduleByEpochs) {
  Schedule by_epochs{.learning_rate = 1, .warmup_epochs = 2, .decay_epochs = 3, .total_epochs = 8};
  for (const Decay decay : {Decay::constant, Decay::step, Decay::cosine}) {
    by_epochs.decay = decay;
    Schedule by_time = by_epochs;
    by_time.total_epochs = 0;
    for (double epoch = 0; epoch <= 8; epoch += 0.25) {
      SCOPED_TRACE(to_string(decay) + " at epoch " + std::to_string(epoch));
      EXPECT_NEAR(learning_rate_at(by_time, epoch, epoch / 8), learning_rate_at(by_epochs, epoch),
                  1e-6);
    }
  }
}

TEST(ScheduleByTime, OfKnownEpochsFollowsTheTimeAlone) {
  const Schedule schedule{.learning_rate = 1,
                          .warmup_epochs = 2,
                          .decay = Decay::step,
                          .decay_epochs = 4,
                          .decay_factor = 0.5F,
                          .total_epochs = 10};
  for (const double epoch : {0.0, 2.0, 50.0}) {
    EXPECT_FLOAT_EQ(learning_rate_at(schedule, epoch, 0.1), 0.5F);
    EXPECT_FLOAT_EQ(learning_rate_at(schedule, epoch, 0.39), 1);
    EXPECT_FLOAT_EQ(learning_rate_at(schedule, epoch, 0.4), 0.5F);
    EXPECT_FLOAT_EQ(learning_rate_at(schedule, epoch, 0.8), 0.25F);
  }
}

RC_GTEST_PROP(ScheduleProperty, ByTimeStaysBetweenZeroAndTheLearningRate, ()) {
  Schedule schedule{.learning_rate = 0.3F};
  schedule.warmup_epochs = *rc::gen::inRange(0, 50) / 10.0;
  schedule.decay = *rc::gen::element(Decay::constant, Decay::step, Decay::cosine);
  schedule.decay_factor = static_cast<float>(*rc::gen::inRange(0, 11)) / 10.0F;
  schedule.total_epochs = *rc::gen::inRange(0, 3) * 4.0;
  const float rate =
      learning_rate_at(schedule, *rc::gen::inRange(0, 60) / 10.0, *rc::gen::inRange(0, 11) / 10.0);
  RC_ASSERT(rate >= 0.0F);
  RC_ASSERT(rate <= 0.3F);
}

RC_GTEST_PROP(ScheduleProperty, StaysBetweenZeroAndTheLearningRate, ()) {
  Schedule schedule{.learning_rate = 0.3F};
  schedule.warmup_epochs = *rc::gen::inRange(0, 50) / 10.0;
  schedule.decay = *rc::gen::element(Decay::constant, Decay::step, Decay::cosine);
  schedule.decay_epochs = *rc::gen::inRange(0, 50) / 10.0;
  schedule.decay_factor = static_cast<float>(*rc::gen::inRange(0, 11)) / 10.0F;
  schedule.total_epochs = *rc::gen::inRange(0, 100) / 10.0;
  const float rate = learning_rate_at(schedule, *rc::gen::inRange(0, 200) / 10.0);
  RC_ASSERT(rate >= 0.0F);
  RC_ASSERT(rate <= 0.3F);
}

TEST(Schedule, Names) {
  for (const auto d : {Decay::constant, Decay::step, Decay::cosine}) {
    EXPECT_EQ(parse_decay(to_string(d)), d);
  }
  try {
    parse_decay("linear");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'linear'"));
    EXPECT_THAT(error.what(), testing::HasSubstr("constant, step, cosine"));
  }
}

}  // namespace
}  // namespace evener
