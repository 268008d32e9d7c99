// The choice of devices under --strategy auto: the plan of trials in tables, and runs in virtual
// time with given speeds.
#include "evener/run/devices/device_trials.h"

#include "tests/run/session/train_fixture.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evener {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Devices that take `fixed + rows * per_row` for a part, and longer in the first trial if
// their memory is cold.
struct Speed {
  double per_row = 1e-3, fixed = 0, cold = 0;
  bool fails = false;
};

struct Plan {
  std::vector<std::vector<std::size_t>> trials;
  DeviceChoice choice;
};

/// Follows the plan to its end with simulated devices.
/// `exchange`: seconds of an exchange between several devices, in every update.
Plan follow(const TrialSetting& setting, const std::vector<Speed>& speeds, double exchange = 0) {
  std::vector<Tried> history;
  Plan plan;
  const auto batch = static_cast<double>(setting.batch);
  for (int guard = 0; guard < 50; ++guard) {
    auto next = after_trials(setting, history);
    if (auto* choice = std::get_if<DeviceChoice>(&next)) {
      plan.choice = std::move(*choice);
      return plan;
    }
    const Trial trial = std::get<Trial>(next);
    plan.trials.push_back(trial.devices);
    Outcome outcome;
    double sum = 0;
    bool failed = false;
    for (const std::size_t i : trial.devices) {
      const Speed& speed = speeds[i];
      const double rows = trial.looks() ? batch / 16 : batch;
      const double seconds = speed.fixed + rows * speed.per_row + (trial.looks() ? speed.cold : 0);
      outcome.speeds.push_back(speed.fails ? 0 : rows / seconds);
      sum += outcome.speeds.back();
      failed = failed || speed.fails;
    }
    outcome.rate = failed ? 0 : sum;
    if (!failed && trial.devices.size() > 1) outcome.rate = batch / (batch / sum + exchange);
    history.push_back({trial, outcome});
  }
  ADD_FAILURE() << "the plan has no end";
  return plan;
}

using Trials = std::vector<std::vector<std::size_t>>;

TEST(DeviceTrials, DearExchangesAreAvoidedByAveraging) {
  const TrialSetting setting{{"card a", "card b"}, 256};
  const std::vector<Speed> equal(2);  // together they compute a batch in 0.128 s
  EXPECT_EQ(follow(setting, equal, 0.06).choice.strategy, "sync:split=speed");
  const std::vector<Speed> four(4);
  const TrialSetting cards{{"a", "b", "c", "d"}, 256};
  const DeviceChoice all = follow(cards, four, 0.256).choice;
  EXPECT_EQ(all.strategy, "adaptive-sgd");
  EXPECT_EQ(all.devices.size(), 4U);
  EXPECT_EQ(follow(cards, four, 0.03).choice.strategy, "sync:split=speed");
  EXPECT_THAT(all.notes.back(),
              AllOf(HasSubstr("averaged (adaptive-sgd)"), HasSubstr("3636 rows/s")));
  // Two devices are at most twice as fast as one of them: that is not enough for averaging.
  EXPECT_EQ(follow(setting, equal, 0.256).choice.strategy, "sequential");
}

TEST(DevicePlan, TriesAllDevicesThenGroupsThenTheFastestAlone) {
  const Plan plan = follow({{"a", "b"}, 256, 0}, {{1e-3}, {1.5e-3}});
  EXPECT_EQ(plan.trials, (Trials{{0, 1}, {0, 1}, {0}, {1}}));
  EXPECT_THAT(plan.choice.devices, ElementsAre(0, 1));
  EXPECT_EQ(plan.choice.strategy, "sync:split=speed");
}

TEST(DevicePlan, FarSlowerThanHalfTheFastestIsNotTriedAlone) {
  EXPECT_EQ(follow({{"a", "b"}, 256, 0}, {{1e-3}, {5e-3}}).trials, (Trials{{0, 1}, {0, 1}, {0}}));
}

TEST(DevicePlan, ADeviceSlowerOnAPieceThanAnotherOnTheBatchIsLeftOut) {
  const Plan plan = follow({{"slow", "b"}, 256, 0}, {{50e-3}, {1e-3}});
  EXPECT_EQ(plan.trials, (Trials{{0, 1}})) << "one look is enough, and one device needs no trial";
  EXPECT_THAT(plan.choice.devices, ElementsAre(1));
  EXPECT_EQ(plan.choice.strategy, "sequential");
}

// Its first step accesses cold memory and takes a hundred times as long as the next, but the device
// is the fastest.
TEST(DevicePlan, AColdFirstStepDoesNotExcludeADevice) {
  const std::vector<Speed> speeds{{1e-3}, {0.5e-3, 0, 0.8}};
  EXPECT_THAT(follow({{"a", "cold"}, 256, 0}, speeds).choice.devices, ElementsAre(0))
      << "without the allowance it would be";
  const Plan plan = follow({{"a", "cold"}, 256, 1.0}, speeds);
  EXPECT_EQ(plan.trials, (Trials{{0, 1}, {0, 1}, {0}, {1}}));
  EXPECT_THAT(plan.choice.devices, ElementsAre(0, 1));
  const std::vector<Speed> slow{{1e-3}, {1, 0, 0.8}};
  EXPECT_THAT(follow({{"a", "slow"}, 256, 1.0}, slow).choice.devices, ElementsAre(0))
      << "cold memory does not explain that";
}

TEST(DevicePlan, AFixedCostDoesNotExcludeADeviceThatIsFastWithWholeBatches) {
  const Plan plan = follow({{"cores", "card"}, 256, 0}, {{1e-3}, {1e-5, 0.2}});
  EXPECT_THAT(plan.choice.devices, ElementsAre(0, 1));
}

TEST(DevicePlan, TheSlowestAreLeftOutWhileThatIsFaster) {
  // Rates add up here, so fewer devices are never faster; one trial without the slowest shows that.
  const Plan plan = follow({{"a", "b", "c"}, 256, 0}, {{1e-3}, {1e-3}, {4e-3}});
  EXPECT_EQ(plan.trials, (Trials{{0, 1, 2}, {0, 1, 2}, {0, 1}, {0}, {1}}));
  EXPECT_THAT(plan.choice.devices, ElementsAre(0, 1, 2));
}

TEST(DevicePlan, AFailedDeviceIsLeftOut) {
  const Plan plan = follow({{"a", "broken", "c"}, 256, 0}, {{1e-3}, {1e-3, 0, 0, true}, {1e-3}});
  EXPECT_EQ(plan.trials, (Trials{{0, 1, 2}, {0, 2}, {0, 2}, {0}, {2}}));
  EXPECT_THAT(plan.choice.devices, ElementsAre(0, 2));
  EXPECT_THAT(follow({{"a", "b"}, 256, 0}, {{1, 0, 0, true}, {1, 0, 0, true}}).choice.devices,
              testing::IsEmpty());
}

class DeviceTrialsTest : public TrainFixture {
 protected:
  DeviceTrialsTest() {
    put_contents(folder_ / "train.txt", easy_data(2000, 1));
    options_.global_batch_size = 64;
    options_.devices = "auto";
    options_.strategy = "auto";
    make_backend_ = [this] { return make_virtual_backend(virtual_time_); };
  }
  void add(const std::string& name, double per_row, double fixed = 0) {
    DeviceModel device;
    device.name = name;
    device.per_row = per_row;
    device.fixed = fixed;
    virtual_time_.devices.push_back(device);
  }
  VirtualTimeOptions virtual_time_;
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
  EXPECT_THAT(pair.notes[0],
              AllOf(HasSubstr("measured in the first "), HasSubstr(": a + b "), HasSubstr("; b ")));
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

TEST_F(DeviceTrialsTest, ADeviceThatSlowsDownTrainingIsLeftOut) {
  add("a", 1e-3);
  const TrainResult alone = run("alone");
  add("slow", 1e-3, 0.1);  // each of its tasks takes longer than a whole batch on the other device
  const TrainResult pair = run("pair");
  EXPECT_THAT(names(pair), ElementsAre("a"));
  EXPECT_EQ(pair.strategy, "sequential");
  EXPECT_EQ(pair.progress.step, alone.progress.step);
  for (const auto& [name, value] : alone.metrics) {
    EXPECT_NEAR(pair.metrics.at(name), value, 1e-4) << name;
  }
  EXPECT_NEAR(pair.train_loss, alone.train_loss, 1e-4) << "every row counts, and once";
  EXPECT_THAT(pair.notes.back(), HasSubstr("decided: a trains alone; "));
  const double extra = pair.progress.seconds - alone.progress.seconds;
  EXPECT_GT(extra, 0) << "finding out takes time, and counts";
  EXPECT_LT(extra, 0.15) << "but what is tried is trained: less than the piece of the slow one";
}

TEST_F(DeviceTrialsTest, TheTwoFastestOfThreeStay) {
  add("a", 1e-3);
  add("slow", 1e-3, 0.1);
  add("b", 1.1e-3);
  const TrainResult result = run("run");
  EXPECT_THAT(names(result), ElementsAre("a", "b"));
  EXPECT_THAT(result.notes.back(), HasSubstr("decided: a + b train; "));
}

TEST_F(DeviceTrialsTest, AResumedSimulationKeepsTheChosenDevices) {
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
  virtual_time_.devices[1].fails_at = 0.05;
  const TrainResult result = run("run");
  EXPECT_THAT(names(result), ElementsAre("a"));
  EXPECT_THAT(result.notes.front(), HasSubstr("a device is lost"));
}

// In any trial: the run continues with the other device, and every row is trained.
TEST_F(DeviceTrialsTest, ADeviceThatFailsAtAnyTimeOfATrialCostsNoRow) {
  add("a", 1e-3);
  const TrainResult alone = run("alone");
  add("b", 1e-3);
  for (int moment = 1; moment < 24; ++moment) {
    const int loser = moment % 2;
    auto devices = virtual_time_.devices;
    for (auto& device : devices) device.fails_at = 0;
    devices[static_cast<std::size_t>(loser)].fails_at = 0.04 * moment;
    virtual_time_.devices = devices;
    const TrainResult result = run(fmt::format("run {}", moment));
    ASSERT_EQ(result.progress.epoch, alone.progress.epoch) << moment;
    EXPECT_NEAR(result.train_loss, alone.train_loss, 0.05) << moment;
    ASSERT_FALSE(result.notes.empty()) << moment;
    EXPECT_THAT(result.notes, testing::Contains(HasSubstr("is lost"))) << moment;
  }
}

TEST_F(DeviceTrialsTest, AnInterruptedRunContinuesItsTrials) {
  add("a", 1e-3);
  add("b", 1e-3);
  const TrainResult whole = run("whole");
  const TrainResult cut = run("cut", 12);
  EXPECT_NE(cut.signal, 0);
  EXPECT_THAT(cut.notes,
              testing::Contains(HasSubstr("before the trials of devices were complete")));
  options_ = resolve_options({{"resume", folder_ / "cut"}}, "");
  EXPECT_EQ(options_.strategy, "auto");
  const TrainResult result = resume("cut");
  EXPECT_EQ(result.strategy, "sync:split=speed");
  EXPECT_EQ(result.progress.epoch, whole.progress.epoch);
  EXPECT_NEAR(result.train_loss, whole.train_loss, 0.05);
  EXPECT_EQ(resolve_options({{"resume", folder_ / "cut"}}, "").strategy, "sync:split=speed");
}

}  // namespace
}  // namespace evener
