// Runs that end by time: --seconds. In virtual time, all is deterministic to the bit.
#include <bit>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <sstream>

#include "tests/run/session/train_fixture.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace evener {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class RunBySeconds : public TrainFixture {
 protected:
  RunBySeconds() {
    options_.epochs = 0;
    options_.decay = "cosine";
    options_.global_batch_size = 10;
    options_.reference_batch = 10;
    use_devices({1e-3});
  }

  /// Simulated devices that take so many seconds per row.
  void use_devices(const std::vector<double>& per_row) {
    VirtualTimeOptions time;
    for (const double seconds : per_row) {
      DeviceModel device;
      device.fixed = 0.002;
      device.per_row = seconds;
      device.name = "device " + std::to_string(time.devices.size());
      time.devices.push_back(device);
    }
    make_backend_ = [time] { return make_virtual_backend(time); };
  }

  std::vector<nlohmann::json> records(const std::string& name, const std::string& kind) {
    std::vector<nlohmann::json> found;
    std::istringstream lines(contents_of(folder_ / (name + "/metrics.jsonl")));
    for (std::string line; std::getline(lines, line);) {
      const auto record = nlohmann::json::parse(line);
      if (record.at("kind") == kind) found.push_back(record);
    }
    return found;
  }

  static std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

  /// Interrupts at each point that checks for a signal, and resumes.
  void expect_same_wherever_interrupted() {
    const TrainResult whole = run("whole");
    const long places = asked_;
    ASSERT_GT(places, 12);
    for (long at = 0; at < places; ++at) {
      SCOPED_TRACE("interrupted at " + std::to_string(at));
      const std::string name = "cut" + std::to_string(at);
      ASSERT_EQ(run(name, at).ended, "signal");
      const TrainResult rest = resume(name);
      EXPECT_EQ(rest.ended, "seconds");
      EXPECT_EQ(bits(rest.progress.training_seconds), bits(whole.progress.training_seconds));
      EXPECT_EQ(rest.progress.step, whole.progress.step);
      EXPECT_EQ(rest.metrics, whole.metrics);
      EXPECT_EQ(rest.progress.best_epoch, whole.progress.best_epoch);
      ASSERT_EQ(model(name, "last"), model("whole", "last"));
      ASSERT_EQ(model(name, "best"), model("whole", "best"));
      std::filesystem::remove_all(folder_ / name);
    }
  }
};

TEST_F(RunBySeconds, EndsWithTheTaskThatPassesTheTime) {
  options_.seconds = 0.5;
  for (const char* strategy :
       {"sequential", "sync", "sync:split=speed", "adaptive-sgd", "elastic", "asp", "gossip"}) {
    SCOPED_TRACE(strategy);
    options_.strategy = strategy;
    use_devices(strategy == std::string("sequential") ? std::vector{1e-3}
                                                      : std::vector{1e-3, 4e-3});
    const TrainResult result = run(strategy);
    EXPECT_EQ(result.ended, "seconds");
    EXPECT_EQ(result.signal, 0);
    EXPECT_GE(result.progress.training_seconds, 0.5);
    EXPECT_LT(result.progress.training_seconds, 0.5 + 0.002 + 10 * 4e-3 + 1e-3);
    EXPECT_TRUE(result.metrics_are_final);
    EXPECT_GT(result.progress.best_epoch, 0);
  }
}

// 12 ms a step: the 42nd step begins at 492 ms and is the last one.
TEST_F(RunBySeconds, TheLastEpochIsCutShortAndEvaluated) {
  options_.seconds = 0.5;
  const TrainResult result = run("run");
  EXPECT_EQ(result.progress.step, 42);
  EXPECT_EQ(result.progress.epoch, 4);
  EXPECT_EQ(result.progress.next_row, 20);
  EXPECT_EQ(result.metrics_epoch, 5);
  const auto epochs = records("run", "epoch");
  ASSERT_EQ(epochs.size(), 5);
  EXPECT_EQ(epochs[3].at("epoch"), 4);
  EXPECT_DOUBLE_EQ(epochs[4].at("epoch"), 4.2);
  EXPECT_EQ(records("run", "eval").size(), 5);
  EXPECT_EQ(records("run", "end").back().at("ended"), "seconds");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/best.safetensors"));
}

TEST_F(RunBySeconds, EvaluatesAsOftenAsWanted) {
  options_.seconds = 1;
  run("each");
  const std::size_t each = records("each", "eval").size();
  ASSERT_GT(each, 6U);
  options_.eval_every = 3;
  run("third");
  EXPECT_LE(records("third", "eval").size(), each / 3 + 1);
}

TEST_F(RunBySeconds, AtTheEndOfAnEpochNothingIsCut) {
  options_.seconds = 0.35;  // the 30th step ends at 0.36
  const TrainResult result = run("run");
  EXPECT_EQ(result.progress.step, 30);
  EXPECT_EQ(result.progress.epoch, 3);
  EXPECT_EQ(result.progress.next_row, 0);
  EXPECT_EQ(records("run", "epoch").size(), 3);
  EXPECT_TRUE(result.metrics_are_final);
}

TEST_F(RunBySeconds, TheLearningRateFollowsTheTime) {
  options_.seconds = 0.5;
  options_.decay_factor = 0;
  run("run");
  const auto steps = records("run", "step");
  ASSERT_GT(steps.size(), 30);
  for (const auto& step : steps) {
    const double begin = step.at("seconds").get<double>() - 0.012;
    const double expected = 0.01 * (1 + std::cos(std::numbers::pi * begin / 0.5)) / 2;
    EXPECT_NEAR(step.at("learning_rate").get<double>(), expected, 1e-8);
  }
}

TEST_F(RunBySeconds, OfKnownEpochsSpreadsThemOverTheTime) {
  options_.seconds = 0.5;
  options_.epochs = 20;
  options_.decay = "step";
  options_.decay_epochs = 10;
  const TrainResult result = run("run");
  EXPECT_EQ(result.progress.step, 42);
  for (const auto& step : records("run", "step")) {
    const bool cut = step.at("seconds").get<double>() - 0.012 >= 0.25;
    EXPECT_FLOAT_EQ(step.at("learning_rate"), cut ? 1e-4F : 1e-2F);
  }
}

TEST_F(RunBySeconds, OneStepWhereTheTimeIsShort) {
  make_backend_ = make_local_backend;  // by the clock of this machine
  options_.seconds = 1e-9;
  const TrainResult result = run("run");
  EXPECT_EQ(result.ended, "seconds");
  EXPECT_EQ(result.progress.step, 1);
  EXPECT_GT(result.progress.training_seconds, 0);
}

TEST_F(RunBySeconds, AnInterruptedRunIsTheSameToTheBit) {
  options_.seconds = 0.3;
  options_.dropout = 0.3;
  options_.warmup_epochs = 0.5;
  expect_same_wherever_interrupted();
}

TEST_F(RunBySeconds, AnInterruptedRunWithAverageIsTheSameToTheBit) {
  options_.seconds = 0.4;
  options_.average = 2;
  expect_same_wherever_interrupted();
}

TEST_F(RunBySeconds, OnSeveralDevicesTooAtTheEndOfAnEpoch) {
  use_devices({1e-3, 3e-3});
  options_.strategy = "sync";
  options_.checkpoint_every = 1;
  options_.keep = 100;
  options_.seconds = 0.4;
  const TrainResult whole = run("whole");
  ASSERT_GE(whole.progress.epoch, 2);
  const std::string last = model("whole", "last");
  // As if it had been killed after its first checkpoint.
  std::filesystem::remove(folder_ / "whole/last.safetensors");
  std::vector<std::filesystem::path> checkpoints;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "whole/checkpoints")) {
    checkpoints.push_back(entry.path());
  }
  std::sort(checkpoints.begin(), checkpoints.end());
  ASSERT_GT(checkpoints.size(), 2);
  for (std::size_t i = 1; i < checkpoints.size(); ++i) std::filesystem::remove_all(checkpoints[i]);
  const TrainResult rest = resume("whole");
  EXPECT_FALSE(rest.was_complete);
  EXPECT_EQ(bits(rest.progress.training_seconds), bits(whole.progress.training_seconds));
  EXPECT_EQ(model("whole", "last"), last);
}

TEST_F(RunBySeconds, TrialsOfDevicesCount) {
  use_devices({1e-3, 1e-3});
  options_.strategy = "auto";
  options_.seconds = 0.5;
  const TrainResult result = run("run");
  EXPECT_EQ(result.ended, "seconds");
  EXPECT_GE(result.progress.training_seconds, 0.5);
  EXPECT_LT(result.progress.training_seconds, 0.55);
  EXPECT_EQ(bits(result.progress.training_seconds), bits(result.progress.seconds));
  options_.seconds = 0.05;  // ends within the trials
  EXPECT_LT(run("short").progress.training_seconds, 0.1);
}

TEST_F(RunBySeconds, AveragesTheLastEpochs) {
  options_.seconds = 0.5;  // 4.2 epochs: 3, 4 and the end
  options_.average = 3;
  const TrainResult result = run("run");
  EXPECT_EQ(result.progress.averaged, 3);
  EXPECT_TRUE(result.metrics_are_final);
  options_.average = 0;
  run("plain");
  EXPECT_NE(model("run", "last"), model("plain", "last"));
}

TEST_F(RunBySeconds, EarlyStopEndsBeforeTheTime) {
  options_.seconds = 100;
  options_.learning_rate = 1e-30;
  options_.early_stop = "p@1";
  options_.patience = 2;
  const TrainResult result = run("run");
  EXPECT_EQ(result.ended, "early stop");
  EXPECT_EQ(result.progress.epoch, 3);
  EXPECT_LT(result.progress.training_seconds, 1);
}

TEST_F(RunBySeconds, ACompleteRunGoesOnWithMoreTime) {
  options_.seconds = 0.3;
  run("run");
  EXPECT_TRUE(resume("run").was_complete);
  options_.seconds = 0.6;
  const TrainResult more = resume("run");
  EXPECT_EQ(more.ended, "seconds");
  EXPECT_GE(more.progress.training_seconds, 0.6);
  EXPECT_EQ(more.progress.step, 50);
  options_.seconds = 0.1;
  EXPECT_THAT([&] { resume("run"); },
              ThrowsMessage<UsageError>(HasSubstr("--seconds 0.1: the run has already trained")));
}

TEST_F(RunBySeconds, TheWindowOfTheAverageDoesNotMoveBack) {
  options_.seconds = 0.5;
  options_.average = 2;
  run("whole");
  ASSERT_EQ(run("run", asked_ - 1).ended, "signal");  // in the last evaluation
  options_.seconds = 0.52;
  EXPECT_THAT([&] { resume("run"); },
              ThrowsMessage<UsageError>(HasSubstr("--average 2 of --seconds 0.52")));
  options_.seconds = 2;
  EXPECT_EQ(resume("run").ended, "seconds");
}

}  // namespace
}  // namespace evener
