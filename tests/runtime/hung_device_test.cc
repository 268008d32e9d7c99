// Devices that hang in a step, and very slow emulated devices: a run does not wait for them.
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/fakes.h"
#include "tests/runtime/small_setup.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/runtime/wall_clock.h"

namespace evener {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Its steps hang from this one on, until they are released.
class HangingSteps {
 public:
  void hang_from(int step) { first_ = step; }
  /// Steps after this one begin when those of the other device hang: otherwise a fast device could
  /// train all rows before.
  void wait_after(int step, std::shared_ptr<HangingSteps> other) {
    last_free_ = step;
    other_ = std::move(other);
  }
  void step() {
    const int step = ++begun_;
    if (step >= first_) return hang();
    if (other_ && step > last_free_) other_->wait_until_it_hangs();
  }
  void ended() {
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }
  void release_and_wait() {
    std::unique_lock lock(mutex_);
    released_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return ended_ == begun_; });
  }
  bool hangs() const { return hangs_; }
  int completed() const { return ended_; }

 private:
  void hang() {
    std::unique_lock lock(mutex_);
    hangs_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return released_; });
  }
  void wait_until_it_hangs() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return hangs_.load(); });
  }

  int last_free_ = 0;
  std::shared_ptr<HangingSteps> other_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<int> first_{1000000}, begun_{0}, ended_{0};
  std::atomic<bool> hangs_{false};
  bool released_ = false;
};

class HangingReplica final : public RemoteReplica {
 public:
  HangingReplica(std::unique_ptr<Replica> inside, std::shared_ptr<HangingSteps> steps)
      : RemoteReplica(std::move(inside)), steps_(std::move(steps)) {}
  double step(const Batch& batch, const Step& step, const NextStep* next) override {
    steps_->step();
    const double loss = RemoteReplica::step(batch, step, next);
    steps_->ended();
    return loss;
  }

 private:
  std::shared_ptr<HangingSteps> steps_;
};

class HangingDevice final : public Device {
 public:
  HangingDevice(std::string name, std::shared_ptr<HangingSteps> steps)
      : name_(std::move(name)), steps_(std::move(steps)) {}
  std::string name() const override { return name_; }
  std::unique_ptr<Replica> make_replica(const Network& network, const Training& training) override {
    return std::make_unique<HangingReplica>(cpu_->make_replica(network, training), steps_);
  }

 private:
  std::string name_;
  std::shared_ptr<HangingSteps> steps_;
  std::unique_ptr<Device> cpu_ = make_device("cpu:1");
};

constexpr int kHangsAt = 3;

/// Time passes only while card 1 hangs and card 0 makes steps, waits for card 1 at a barrier, or
/// hangs too. It stops shortly after the limit, so that card 0 never counts as hung.
class TestClock {
 public:
  TestClock(std::vector<std::shared_ptr<HangingSteps>> steps, bool barrier, Seconds limit)
      : steps_(std::move(steps)), barrier_(barrier), limit_(limit) {}

  Seconds now() {
    const std::lock_guard lock(mutex_);
    const int steps = steps_[0]->completed();
    const bool passes =
        steps_[0]->hangs() || (barrier_ ? steps >= kHangsAt : steps > std::exchange(seen_, steps));
    if (steps_[1]->hangs() && passes && now_ < limit_ + 1) now_ += 0.06;
    return now_;
  }

 private:
  std::vector<std::shared_ptr<HangingSteps>> steps_;
  bool barrier_;
  Seconds limit_;
  std::mutex mutex_;
  Seconds now_ = 0;
  int seen_ = 0;
};

class HungDeviceTest : public testing::Test {
 protected:
  /// Two devices: "card 0" works, "card 1" hangs in its third step.
  Engine& engine(const std::string& strategy) {
    engine_.reset();
    data_ = std::make_unique<Dataset>(small_data(400));
    steps_ = {std::make_shared<HangingSteps>(), std::make_shared<HangingSteps>()};
    steps_[1]->hang_from(kHangsAt);
    steps_[0]->wait_after(kHangsAt, steps_[1]);
    clock_ = std::make_shared<TestClock>(steps_, barrier_, limit_);
    EngineSetup setup = small_setup(*data_, strategy, 8);
    setup.batch_per_device = 8;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      setup.devices.push_back(
          std::make_shared<HangingDevice>("card " + std::to_string(i), steps_[i]));
    }
    setup.supervision = supervision_;
    setup.supervision.clock = [clock = clock_] { return clock->now(); };
    engine_ = std::make_unique<Engine>(std::move(setup));
    FloatBuffer start = start_of(small_network(*data_));
    engine_->models().give(0, std::move(start));
    position_ = {};
    return *engine_;
  }

  /// Everything is gone when the device comes back, which must do no harm.
  void release() {
    engine_.reset();
    data_.reset();
    for (const auto& steps : steps_) steps->release_and_wait();
  }

  std::unique_ptr<Dataset> data_;
  std::vector<std::shared_ptr<HangingSteps>> steps_;
  std::unique_ptr<Engine> engine_;
  Supervision supervision_;
  Position position_;
  std::shared_ptr<TestClock> clock_;
  bool barrier_ = false;
  Seconds limit_ = 0;
};

TEST_F(HungDeviceTest, OthersTrainItsRows) {
  supervision_.limits.stall.fixed = limit_ = 0.6;
  for (const auto& [strategy, barrier] :
       std::vector<std::pair<std::string, bool>>{{"sync", true},
                                                 {"local-sgd:period=3", true},
                                                 {"elastic:period=3", true},
                                                 {"bsp", true},
                                                 {"asp", false},
                                                 {"hogbatch:accelerator-batch=8", false}}) {
    SCOPED_TRACE(strategy);
    barrier_ = barrier;
    Engine& hanging = engine(strategy);
    EXPECT_TRUE(hanging.run_epoch(position_, go_on));
    EXPECT_EQ(position_.next_row, 400U);
    const auto dropped = hanging.take_dropped_workers();
    ASSERT_EQ(dropped.size(), 1U);
    EXPECT_THAT(dropped[0], HasSubstr("card 1: it hangs: no progress for 1 s (--stall-timeout)"));
    EXPECT_TRUE(hanging.timeline().totals()[1].lost);
    // The next epoch is trained without it.
    position_ = {position_.step, 1, 0, 0};
    EXPECT_TRUE(hanging.run_epoch(position_, go_on));
    release();
  }
}

TEST_F(HungDeviceTest, AnInterruptedRunPausesWithoutIt) {
  limit_ = supervision_.limits.grace;
  bool interrupted = true;
  supervision_.interrupted = [&] { return interrupted && steps_[1]->hangs() ? SIGINT : 0; };
  barrier_ = true;
  for (const char* strategy : {"sync", "local-sgd:period=3", "elastic:period=3", "bsp"}) {
    SCOPED_TRACE(strategy);
    interrupted = true;
    Engine& hanging = engine(strategy);
    EXPECT_FALSE(hanging.run_epoch(position_, go_on));
    EXPECT_LT(position_.next_row, 400U);
    const auto dropped = hanging.take_dropped_workers();
    ASSERT_EQ(dropped.size(), 1U);
    EXPECT_THAT(dropped[0], HasSubstr("card 1: it hangs: its step has not ended"));
    // A checkpoint has the model and counts each row once.
    FloatBuffer model = hanging.models().take(0);
    EXPECT_EQ(model.size(), layout_of(small_network(*data_)).size);
    hanging.models().give(0, std::move(model));
    interrupted = false;
    EXPECT_TRUE(hanging.run_epoch(position_, go_on));
    EXPECT_EQ(position_.next_row, 400U);
    release();
  }
}

TEST_F(HungDeviceTest, WithoutAnotherDeviceTheRunFails) {
  supervision_.interrupted = [&] { return steps_[1]->hangs() ? SIGINT : 0; };
  limit_ = supervision_.limits.grace;
  Engine& hanging = engine("sync");
  steps_[0]->hang_from(kHangsAt);
  try {
    hanging.run_epoch(position_, go_on);
    FAIL() << "no device was left";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("it hangs"));
  }
  release();
}

/// A device of a billionth of its speed: a step takes hours.
TEST(SlowEmulation, ASignalEndsTheEmulatedTime) {
  for (const std::size_t devices : {1U, 2U}) {
    const Dataset data = small_data(400);
    EngineSetup setup = small_setup(data, devices == 1 ? "sequential" : "sync", 8);
    for (std::size_t i = 0; i < devices; ++i) setup.devices.push_back(make_device("cpu:1"));
    setup.speeds = std::vector<double>(devices, 1e-9);
    setup.supervision.interrupted = [] { return SIGINT; };
    Engine engine(std::move(setup));
    engine.models().give(0, start_of(small_network(data)));
    Position position;
    const auto pauses = [](const StepReport&) { return false; };
    EXPECT_FALSE(engine.run_epoch(position, pauses));
    EXPECT_GT(position.next_row, 0U);
    EXPECT_THAT(engine.take_dropped_workers(), IsEmpty());
  }
}

}  // namespace
}  // namespace evener
