// An interrupted and resumed run is bitwise identical to an uninterrupted one.
#include <filesystem>
#include <map>
#include <sstream>

#include "tests/run/session/train_fixture.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace evener {
namespace {

using testing::HasSubstr;

class Resume : public TrainFixture {
 protected:
  /// How often each record occurs in metrics.jsonl, by kind and step.
  std::map<std::string, int> records(const std::string& name) {
    std::map<std::string, int> counts;
    std::istringstream lines(contents_of(folder_ / (name + "/metrics.jsonl")));
    for (std::string line; std::getline(lines, line);) {
      const auto record = nlohmann::json::parse(line);
      ++counts[record.at("kind").get<std::string>() + " " + record.at("step").dump()];
    }
    return counts;
  }
  static void append_contents(const std::string& path, const std::string& text) {
    put_contents(path, contents_of(path) + text);
  }
  /// Interrupts at every point that checks for a signal, resumes, and compares the models.
  void expect_same_wherever_interrupted() {
    options_.global_batch_size = 24;
    run("whole");
    const long places = asked_;
    ASSERT_GT(places, 12);
    for (long at = 0; at < places; ++at) {
      SCOPED_TRACE("interrupted at " + std::to_string(at));
      const std::string name = "cut" + std::to_string(at);
      const TrainResult cut = run(name, at);
      ASSERT_EQ(cut.signal, SIGINT);
      EXPECT_EQ(cut.ended, "signal");
      const TrainResult rest = resume(name);
      EXPECT_EQ(rest.signal, 0);
      ASSERT_EQ(model(name, "last"), model("whole", "last"));
      ASSERT_EQ(model(name, "best"), model("whole", "best"));
      std::filesystem::remove_all(folder_ / name);
    }
  }
};

TEST_F(Resume, AnywhereWithAdamAndDropout) {
  options_.dropout = 0.3;
  options_.input_dropout = 0.1;
  options_.warmup_epochs = 0.5;
  options_.decay = "cosine";
  expect_same_wherever_interrupted();
}

TEST_F(Resume, AnywhereWithMomentumAverageAndBalance) {
  options_.optimizer = "momentum";
  options_.average = 2;
  options_.balance = "nonzeros";
  expect_same_wherever_interrupted();
}

TEST_F(Resume, AnywhereWithEarlyStopAndHeldOutRows) {
  options_.test.clear();
  options_.validation_share = 0.3;
  options_.early_stop = "loss";
  options_.patience = 1;
  options_.optimizer = "adagrad";
  options_.learning_rate = 0.5;
  options_.epochs = 4;
  expect_same_wherever_interrupted();
}

TEST_F(Resume, AnywhereOnTheCpu) {
  options_.devices = "cpu:2";
  options_.dropout = 0.3;
  options_.hidden = {16, 8};
  expect_same_wherever_interrupted();
}

TEST_F(Resume, AfterEachStepAgainAndAgain) {
  run("whole");
  TrainResult result = run("often", 0);
  int sessions = 1;
  while (result.signal != 0) {
    result = resume("often", 2);  // at least one evaluation and one step
    ASSERT_LT(++sessions, 100);
  }
  EXPECT_GT(sessions, 5);
  EXPECT_EQ(model("often", "last"), model("whole", "last"));
  EXPECT_EQ(model("often", "best"), model("whole", "best"));
}

TEST_F(Resume, FromAnEarlierCheckpointAfterACrash) {
  run("whole");
  options_.checkpoint_every = 1;
  int steps = 0;
  hooks_.before_step = [&](const Batch&, const Step&) {
    if (++steps == 17) throw std::runtime_error("power cut");
  };
  EXPECT_THROW(run("crashed"), std::runtime_error);
  EXPECT_THAT(contents_of(folder_ / "crashed/metrics.jsonl"),
              HasSubstr("\"ended\":\"failed\",\"why\":\"reference: power cut\""));
  hooks_.before_step = {};
  EXPECT_FALSE(resume("crashed").was_complete);
  EXPECT_EQ(model("crashed", "last"), model("whole", "last"));
  EXPECT_EQ(model("crashed", "best"), model("whole", "best"));
}

// A killed run has written records after its last checkpoint. The resumed run writes them again.
TEST_F(Resume, RecordsOccurOnceAfterACrash) {
  run("whole");
  options_.checkpoint_every = 1;
  for (int crash = 2; crash < 21; ++crash) {
    SCOPED_TRACE("crashed at step " + std::to_string(crash));
    int steps = 0;
    hooks_.before_step = [&](const Batch&, const Step&) {
      if (++steps == crash) throw std::runtime_error("power cut");
    };
    const std::string name = "crashed" + std::to_string(crash);
    EXPECT_THROW(run(name), std::runtime_error);
    hooks_.before_step = {};
    if (!std::filesystem::exists(folder_ / (name + "/checkpoints"))) continue;
    append_contents(folder_ / (name + "/metrics.jsonl"), R"({"kind":"step","st)");  // torn
    resume(name);
    EXPECT_EQ(records(name), records("whole"));
  }
}

TEST_F(Resume, RecordsOccurOnceAfterEachInterruption) {
  TrainResult result = run("often", 0);
  while (result.signal != 0) result = resume("often", 2);
  for (const auto& [record, count] : records("often")) EXPECT_EQ(count, 1) << record;
}

TEST_F(Resume, FromACheckpointByTimeInTheMiddleOfAnEpoch) {
  run("whole");
  options_.checkpoint_minutes = 1e-12;  // after every step
  int steps = 0;
  hooks_.before_step = [&](const Batch&, const Step&) {
    if (++steps == 11) throw std::runtime_error("power cut");
  };
  EXPECT_THROW(run("crashed"), std::runtime_error);
  std::vector<std::uint64_t> numbers;
  hooks_.before_step = [&](const Batch&, const Step& step) { numbers.push_back(step.number); };
  resume("crashed");
  EXPECT_EQ(numbers.front(), 11U);
  EXPECT_EQ(model("crashed", "last"), model("whole", "last"));
}

TEST_F(Resume, MayGoOnForMoreEpochs) {
  options_.epochs = 5;
  run("whole");
  options_.epochs = 2;
  run("longer");
  options_.epochs = 5;
  EXPECT_EQ(resume("longer").progress.epoch, 5U);
  EXPECT_EQ(model("longer", "last"), model("whole", "last"));
}

TEST_F(Resume, AFinishedRunStaysAsItIs) {
  const TrainResult first = run("run");
  const std::string last = model("run", "last"), best = model("run", "best");
  const TrainResult again = resume("run");
  EXPECT_EQ(again.metrics, first.metrics);
  EXPECT_EQ(model("run", "last"), last);
  EXPECT_EQ(model("run", "best"), best);
}

TEST_F(Resume, ARunCutOffAfterItsLastEpochIsBroughtToItsEnd) {
  const TrainResult first = run("run");
  const std::string last = model("run", "last");
  std::filesystem::remove(folder_ / "run/metrics.jsonl");  // holds the "end" record
  std::filesystem::remove(folder_ / "run/last.safetensors");
  const TrainResult again = resume("run");
  EXPECT_FALSE(again.was_complete);
  EXPECT_EQ(again.metrics, first.metrics);
  EXPECT_EQ(model("run", "last"), last);
  EXPECT_TRUE(resume("run").was_complete);
  std::filesystem::remove(folder_ / "run/last.safetensors");
  EXPECT_FALSE(resume("run").was_complete) << "there is a model to write";
  EXPECT_EQ(model("run", "last"), last);
}

TEST_F(Resume, RefusesWhatWouldBeAnotherRun) {
  run("run", 5);
  const TrainOptions before = options_;
  options_.hidden = {9};
  EXPECT_THAT(error_of([&] { resume("run"); }),
              HasSubstr("--hidden: a resumed run cannot change it from 8 to 9"));
  options_ = before;
  put_contents(folder_ / "train.txt", easy_data(99, 1));
  EXPECT_THAT(error_of([&] { resume("run"); }), HasSubstr("is not the data"));
  EXPECT_THAT(error_of([&] { resume("nowhere"); }), HasSubstr("no run to resume"));
}

TEST_F(Resume, TheWindowOfTheAverageCannotMoveOnceItHasBegun) {
  options_.average = 2;
  run("run");
  options_.epochs = 4;
  EXPECT_THAT(error_of([&] { resume("run"); }), HasSubstr("give more --epochs"));
  options_.epochs = 5;
  EXPECT_EQ(resume("run").progress.epoch, 5U);
}

TEST_F(Resume, GoesOnWithTheDevicesThatAutoFound) {
  context_.devices.automatic = [] { return FoundDevices{"cpu:1,cpu:1", {}}; };
  options_.epochs = 2;
  options_.global_batch_size = 4;  // enough batches to complete the trials
  run("run");
  const std::string path = folder_ / "run";
  TrainOptions resumed = resolve_options({{"resume", path}, {"epochs", "3"}}, "");
  // Every new run measures again; a resumed run keeps the devices.
  const bool both = resumed.devices == "cpu:1,cpu:1";
  EXPECT_THAT(resumed.devices, testing::AnyOf("cpu:1", "cpu:1,cpu:1"));
  // With such small batches an exchange may take longer than a step.
  EXPECT_THAT(resumed.strategy, both ? testing::AnyOf("sync:split=speed", "adaptive-sgd")
                                     : testing::AnyOf("sequential", "sequential"));
  context_.devices.automatic = [] { return FoundDevices{"cpu:2", {}}; };
  EXPECT_EQ(train(resumed, *make_local_backend(), context_).workers.size(), both ? 2U : 1U);
  // On a machine without these devices.
  resumed = resolve_options({{"resume", path}, {"epochs", "4"}}, "");
  resumed.devices = "cpu:1,opencl:99.0";
  EXPECT_THAT(error_of([&] { train(resumed, *make_local_backend(), context_); }),
              HasSubstr("(to resume on --devices cpu:1,opencl:99.0; name others with --devices)"));
}

TEST_F(Resume, WithoutACheckpointSaysSo) {
  run("run");
  std::filesystem::remove_all(folder_ / "run/checkpoints");
  EXPECT_THAT(error_of([&] { resume("run"); }), HasSubstr("no checkpoint to resume from"));
}

}  // namespace
}  // namespace evener
