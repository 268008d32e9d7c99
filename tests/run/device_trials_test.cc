// Which devices train under --strategy auto, in virtual time: speeds are what the test says.
#include "evener/run/device_trials.h"

#include "tests/run/train_fixture.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evener {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class DeviceTrialsTest : public TrainFixture {
 protected:
  DeviceTrialsTest() {
    put_contents(folder_ / "train.txt", easy_data(2000, 1));
    options_.global_batch_size = 64;
    options_.devices = "auto";
    options_.strategy = "auto";
    context_.virtual_time.emplace();
  }
  void add(const std::string& name, double per_row, double fixed = 0) {
    DeviceModel device;
    device.name = name;
    device.per_row = per_row;
    device.fixed = fixed;
    context_.virtual_time->devices.push_back(device);
  }
  static std::vector<std::string> names(const TrainResult& result) {
    std::vector<std::string> names;
    for (const auto& worker : result.workers) names.push_back(worker.name);
    return names;
  }
};

TEST_F(DeviceTrialsTest, AnEqualPairStaysAndMakesTheUpdatesOfOne) {
  add("a", 1e-3);
  const TrainResult alone = run("alone");
  add("b", 1e-3);
  const TrainResult pair = run("pair");
  EXPECT_THAT(names(pair), ElementsAre("a", "b"));
  EXPECT_EQ(pair.strategy, "sync:split=speed");
  EXPECT_EQ(pair.progress.step, alone.progress.step);
  EXPECT_LT(pair.progress.seconds, 0.7 * alone.progress.seconds);
  ASSERT_EQ(pair.notes.size(), 2U);
  EXPECT_THAT(pair.notes[0], AllOf(HasSubstr("measured in "), HasSubstr("; a + b ")));
  EXPECT_EQ(pair.notes[1], "decided: all devices train");
}

TEST_F(DeviceTrialsTest, AHalfAsFastDeviceHelpsByHalf) {
  options_.epochs = 12;  // long enough for the trials to pay
  add("a", 1e-3);
  const TrainResult alone = run("alone");
  add("b", 2e-3);
  const TrainResult pair = run("pair");
  EXPECT_THAT(names(pair), ElementsAre("a", "b"));
  EXPECT_LT(pair.progress.seconds, 0.85 * alone.progress.seconds);
}

TEST_F(DeviceTrialsTest, WhoeverCostsMoreThanHeBringsIsLeftOutAndNobodyNotices) {
  add("a", 1e-3);
  const TrainResult alone = run("alone");
  add("slow", 1e-3, 0.1);  // every task of it takes longer than a whole batch of the other
  const TrainResult pair = run("pair");
  EXPECT_THAT(names(pair), ElementsAre("a"));
  EXPECT_EQ(pair.strategy, "sequential");
  EXPECT_EQ(model("pair", "last"), model("alone", "last")) << "to the bit";
  EXPECT_THAT(pair.notes.back(), HasSubstr("decided: a trains alone; "));
  EXPECT_GT(pair.progress.seconds, alone.progress.seconds) << "finding out takes time, and counts";
}

TEST_F(DeviceTrialsTest, OfThreeTheTwoThatAreWorthItStay) {
  add("a", 1e-3);
  add("slow", 1e-3, 0.1);
  add("b", 1.1e-3);
  const TrainResult result = run("run");
  EXPECT_THAT(names(result), ElementsAre("a", "b"));
  EXPECT_THAT(result.notes.back(), HasSubstr("decided: a + b train; "));
}

TEST_F(DeviceTrialsTest, AResumedSimulationGoesOnWithThoseThatWereLeft) {
  add("a", 1e-3);
  add("slow", 1e-3, 0.1);
  run("run");
  options_ = resolve_options({{"resume", folder_ / "run"}, {"epochs", "4"}}, "");
  for (int more = 4; more <= 5; ++more) {
    options_.epochs = static_cast<std::uint32_t>(more);
    EXPECT_THAT(names(resume("run")), ElementsAre("a"));
  }
}

TEST_F(DeviceTrialsTest, ADeviceThatFailsOnTrialIsLeftOut) {
  add("a", 1e-3);
  add("b", 1e-3);
  context_.virtual_time->devices[1].fails_at = 0.05;
  const TrainResult result = run("run");
  EXPECT_THAT(names(result), ElementsAre("a"));
  EXPECT_THAT(result.notes.front(), HasSubstr("a device is lost"));
}

}  // namespace
}  // namespace evener
