#include "evener/runtime/scheduler.h"

#include <cmath>
#include <numeric>

#include "tests/runtime/fakes.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evener {
namespace {

class SchedulerTest : public testing::Test {
 protected:
  Engine& engine(const std::string& strategy, int workers, std::size_t batch = 4) {
    engine_.reset();
    EngineSetup setup;
    setup.network.features = data_.feature_count;
    setup.network.labels = data_.label_count;
    setup.network.hidden = {4};
    setup.training.optimizer = Optimizer::sgd;
    setup.plan = plan_;
    setup.plan.data = &data_;
    setup.strategy = parse_strategy(strategy);
    setup.batch = batch;
    logs_ = std::vector<FakeLog>(static_cast<std::size_t>(workers));
    for (auto& log : logs_) {
      log.remote = remote_;
      log.most_rows = most_rows_;
      setup.devices.push_back(
          std::make_unique<FakeDevice>("card " + std::to_string(&log - logs_.data()), log));
    }
    engine_ = std::make_unique<Engine>(std::move(setup));
    return *engine_;
  }

  /// The index of a parameter outside the sparse input layer.
  std::size_t dense() const {
    Network network;
    network.features = data_.feature_count;
    network.labels = data_.label_count;
    network.hidden = {4};
    return layout_of(network).layers.back().bias.offset;
  }
  std::vector<std::uint32_t> rows_trained() {
    std::vector<std::uint32_t> rows;
    for (const auto& log : logs_) {
      for (const auto& batch : log.batches) rows.insert(rows.end(), batch.begin(), batch.end());
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  std::vector<std::uint32_t> all_rows() const {
    std::vector<std::uint32_t> rows(data_.rows());
    std::iota(rows.begin(), rows.end(), 0U);
    return rows;
  }

  Dataset data_ = small_data(10);
  EpochPlan plan_;
  bool remote_ = false;  // devices have their own memory
  std::size_t most_rows_ = 0;
  std::vector<FakeLog> logs_;
  std::unique_ptr<Engine> engine_;
  Position position_;
};

TEST_F(SchedulerTest, CutsAnEpochAndCountsIt) {
  EXPECT_TRUE(engine("sequential", 1).run_epoch(position_, go_on));
  ASSERT_EQ(logs_[0].batches.size(), 3U);
  EXPECT_EQ(logs_[0].batches[2].size(), 2U);
  EXPECT_EQ(position_.step, 3U);
  EXPECT_EQ(position_.next_row, 10U);
  EXPECT_EQ(position_.epoch, 0U) << "the caller closes the epoch";
  EXPECT_EQ(rows_trained(), all_rows());
  double sum = 0;
  for (const auto& batch : logs_[0].batches) {
    sum += batch.front() * static_cast<double>(batch.size());
  }
  EXPECT_DOUBLE_EQ(position_.loss_sum, sum);
}

// How many rows a device gets depends on the strategy: a part of the batch, or more than the batch.
TEST_F(SchedulerTest, ReportsOncePerDeviceThatItsMemoryIsTooSmallForItsBatches) {
  const auto cuts = [&](const std::string& strategy, std::size_t batch) {
    engine(strategy, 2, batch).run_epoch(position_ = {}, go_on);
    return engine_->take_cuts();
  };
  most_rows_ = 3;
  EXPECT_THAT(cuts("sync", 6), testing::IsEmpty()) << "3 rows each";
  EXPECT_THAT(cuts("sync", 8), testing::UnorderedElementsAre(
                                   "card 0: its memory holds batches of 3 rows, not of 4",
                                   "card 1: its memory holds batches of 3 rows, not of 4"));
  EXPECT_THAT(
      cuts("hogbatch:accelerator-batch=5", 2),
      testing::UnorderedElementsAre("card 0: its memory holds batches of 3 rows, not of 5",
                                    "card 1: its memory holds batches of 3 rows, not of 5"));
}

TEST_F(SchedulerTest, AfterAPauseItContinuesWithTheSameBatches) {
  Engine& whole = engine("sequential", 1);
  Position other;
  whole.run_epoch(other, go_on);
  const auto expected = logs_[0].batches;
  Engine& paused = engine("sequential", 1);
  EXPECT_FALSE(paused.run_epoch(position_, [](const StepReport&) { return false; }));
  EXPECT_EQ(position_.next_row, 4U);
  EXPECT_TRUE(paused.run_epoch(position_, go_on));
  EXPECT_EQ(logs_[0].batches, expected);
  EXPECT_EQ(logs_[0].steps.back().number, 3U);
  EXPECT_TRUE(paused.run_epoch(position_, go_on)) << "no rows left: no steps";
  EXPECT_EQ(logs_[0].batches.size(), 3U);
}

TEST_F(SchedulerTest, AResumedRunContinuesTheStepNumbers) {
  position_ = {7, 2, 0, 0};
  engine("sequential", 1).run_epoch(position_, go_on);
  EXPECT_EQ(logs_[0].steps.front().number, 8U);
  EXPECT_EQ(position_.step, 10U);
}

TEST_F(SchedulerTest, TrainsOnlyTheRowsOfThePlan) {
  const std::vector<std::uint32_t> some{1, 5, 7};
  plan_.rows = some;
  engine("sequential", 1).run_epoch(position_, go_on);
  EXPECT_EQ(rows_trained(), some);
}

TEST_F(SchedulerTest, TheLearningRateFollowsTheScheduleAndThePolicy) {
  plan_.schedule.decay = Decay::cosine;
  plan_.schedule.total_epochs = 1;
  engine("sequential", 1).run_epoch(position_, go_on);
  for (std::size_t i = 0; i < 3; ++i) {
    const double epoch = static_cast<double>(4 * i) / 10;
    EXPECT_EQ(logs_[0].steps[i].learning_rate, learning_rate_at(plan_.schedule, epoch)) << i;
  }
  EXPECT_NE(logs_[0].steps[0].learning_rate, logs_[0].steps[2].learning_rate);
}

TEST_F(SchedulerTest, ALossThatIsNotFiniteStopsTheRun) {
  Engine& diverging = engine("sequential", 1);
  logs_[0].bad_step = 2;
  EXPECT_THROW(diverging.run_epoch(position_, go_on), DivergedError);
}

TEST_F(SchedulerTest, AWorkerThatFailsIsDroppedAndItsRowsAreTrainedByOthers) {
  data_ = small_data(200);
  for (const char* strategy :
       {"elastic:period=3", "sma", "adaptive-sgd:mega-batch=5", "local-sgd:period=3", "gossip",
        "gossip:merge=pushsum", "adaptive-gossip:rows=changed"}) {
    Engine& failing = engine(strategy, 3);
    position_ = {};
    logs_[1].fails_after = 3;
    EXPECT_TRUE(failing.run_epoch(position_, go_on)) << strategy;
    const auto losses = failing.take_dropped_workers();
    ASSERT_EQ(losses.size(), 1U) << strategy;
    EXPECT_EQ(losses[0], "card 1: the device was unplugged");
    EXPECT_EQ(position_.next_row, 200U);
    // Rows that it had trained without a merge were trained again: none is missing.
    auto rows = rows_trained();
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    EXPECT_EQ(rows, all_rows()) << strategy;
    EXPECT_TRUE(failing.take_dropped_workers().empty());
    std::vector<bool> lost;
    for (const auto& totals : failing.timeline().totals()) lost.push_back(totals.lost);
    EXPECT_THAT(lost, testing::ElementsAre(false, true, false));
  }
}

TEST_F(SchedulerTest, ADroppedDevicesMessageHasItsNameOnce) {
  data_ = small_data(200);
  Engine& failing = engine("elastic:period=3", 3);
  logs_[1].fails_after = 3;
  logs_[1].failure = "card 1: training step: out of resources";
  EXPECT_TRUE(failing.run_epoch(position_, go_on));
  EXPECT_THAT(failing.take_dropped_workers(),
              testing::ElementsAre("card 1: training step: out of resources"));
}

TEST_F(SchedulerTest, WithTheLastWorkerTheRunFails) {
  Engine& failing = engine("adaptive-sgd", 2);
  for (auto& log : logs_) log.fails_after = 1;
  try {
    failing.run_epoch(position_, go_on);
    FAIL() << "no worker was left";
  } catch (const Error& problem) {
    EXPECT_THAT(problem.what(), testing::HasSubstr("the device was unplugged"));
  }
}

TEST_F(SchedulerTest, EveryStrategyTrainsEveryRowOnceOverSeveralWorkers) {
  data_ = small_data(333);
  for (const char* strategy :
       {"hogbatch:accelerator-batch=7", "adaptive-hogbatch:accelerator-batch=8:accelerator-min=2",
        "elastic", "sma", "adaptive-sgd:mega-batch=4", "local-sgd:period=3", "gossip:overlap=0",
        "gossip:merge=pushsum", "adaptive-gossip:rows=changed"}) {
    Engine& several = engine(strategy, 3);
    position_ = {};
    EXPECT_TRUE(several.run_epoch(position_, go_on)) << strategy;
    EXPECT_EQ(rows_trained(), all_rows()) << strategy;
  }
}

// So that an accelerator can prefetch the next batch while it computes this one.
TEST_F(SchedulerTest, ADeviceWithItsOwnMemoryGetsItsNextStepInAdvance) {
  data_ = small_data(800);
  remote_ = true;
  for (const int workers : {1, 2, 3}) {
    for (const char* strategy :
         {"elastic", "sma", "sync", "hogbatch:accelerator-batch=8:tail=whole", "asp", "bsp"}) {
      Engine& several = engine(strategy, workers, 8);
      position_ = {};
      EXPECT_TRUE(several.run_epoch(position_, go_on)) << strategy;
      EXPECT_EQ(rows_trained(), all_rows()) << strategy;
      for (const auto& log : logs_) {
        std::size_t wrong = 0;
        for (std::size_t i = 0; i + 1 < log.batches.size(); ++i) {
          const bool right = log.hints[i].rows == log.batches[i + 1] &&
                             log.hints[i].number == log.steps[i + 1].number;
          if (!right) ++wrong;
        }
        // At the end of the epoch other workers may get reserved rows.
        EXPECT_LE(wrong, 2U) << strategy << " of " << log.batches.size() << " by " << workers;
      }
    }
  }
}

TEST_F(SchedulerTest, DevicesInHostMemoryGetNoNextStep) {
  data_ = small_data(100);
  engine("elastic", 2).run_epoch(position_, go_on);
  for (const auto& log : logs_) {
    for (const auto& hint : log.hints) EXPECT_TRUE(hint.rows.empty());
  }
}

TEST_F(SchedulerTest, ReservedRowsSurviveSizesPausesAndFailures) {
  data_ = small_data(500);
  remote_ = true;
  for (const char* strategy : {"adaptive-sgd:mega-batch=4:gamma=0", "elastic", "sync", "asp",
                               "adaptive-hogbatch:accelerator-batch=16:accelerator-min=2"}) {
    Engine& several = engine(strategy, 3, 16);
    logs_[2].fails_after = 5;
    position_ = {};
    int reports = 0;
    const auto pause_often = [&](const StepReport&) { return ++reports % 7 != 0; };
    for (int runs = 0; !several.run_epoch(position_, pause_often); ++runs) {
      ASSERT_LT(runs, 200) << strategy;
    }
    EXPECT_EQ(position_.next_row, 500U) << strategy;
    auto rows = rows_trained();  // some twice: the device was lost before a merge
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    EXPECT_EQ(rows, all_rows()) << strategy;
  }
}

TEST_F(SchedulerTest, ReplicasAreMergedIntoTheModelThatIsEvaluated) {
  // Every step adds 1 to every weight of its replica, so without momentum the merged weights are a
  // mean of the numbers of steps.
  Engine& merging = engine("adaptive-sgd:scaler=off:mega-batch=1000", 2, 5);
  EXPECT_TRUE(merging.run_epoch(position_, go_on));
  const double first = static_cast<double>(logs_[0].steps.size());
  const double second = static_cast<double>(logs_[1].steps.size());
  ASSERT_EQ(first + second, 2);
  FloatBuffer global = merging.models().take(0);
  EXPECT_FLOAT_EQ(global[dense()], static_cast<float>((first * first + second * second) / 2));
  merging.models().give(0, std::move(global));
}

TEST_F(SchedulerTest, ElasticAveragingMovesReplicasAndCenterTogether) {
  // Two replicas, one step each: w = 1, z = 0, a = .25: z = .5, w = .75.
  Engine& pulling = engine("elastic:pull=0.25:period=1:step=whole", 2, 5);
  EXPECT_TRUE(pulling.run_epoch(position_, go_on));
  FloatBuffer center = pulling.models().take(0);
  EXPECT_FLOAT_EQ(center[dense()],
                  0.25F * static_cast<float>(logs_[0].steps.size() + logs_[1].steps.size()));
  pulling.models().give(0, std::move(center));
}

TEST(Timeline, StalenessCountsOnceForEachUpdate) {
  Timeline timeline({"cpu:4"});
  Task task;
  task.parts.resize(4);
  timeline.add_task(task, {}, 3);
  timeline.add_task(task, {}, 5);
  EXPECT_EQ(timeline.totals()[0].updates, 8U);
  EXPECT_EQ(timeline.totals()[0].staleness_sum / 8, 4);
  EXPECT_EQ(timeline.totals()[0].staleness_max, 5U);
}

TEST_F(SchedulerTest, ATraceHasEveryTask) {
  engine("adaptive-sgd:scaler=off", 2).run_epoch(position_, go_on);
  const std::string trace = engine_->timeline().trace_json();
  EXPECT_THAT(trace, testing::HasSubstr("\"name\":\"1 card 1\""));
  EXPECT_THAT(trace, testing::HasSubstr("\"name\":\"merge\""));
  EXPECT_THAT(trace, testing::HasSubstr("\"rows\":4"));
}

}  // namespace
}  // namespace evener
