// A device fails, at each of its calls in turn: the other device finishes the run.
#include "tests/device/has_device.h"
#include "tests/runtime/fakes.h"
#include "tests/runtime/small_setup.h"
#include "tests/sanitized.h"
#include <gtest/gtest.h>

#include "evener/device/opencl/faults.h"
#include "evener/nn/metrics.h"

namespace evener {
namespace {

struct Outcome {
  long calls = 0;        // to the device, without a failure
  bool refused = false;  // the engine could not be made
  std::size_t lost = 0;  // workers
  std::size_t evaluated = 0;
};

EngineSetup setup_for(const Dataset& data, const std::string& strategy,
                      const std::vector<std::string>& devices) {
  EngineSetup setup = small_setup(data, strategy, 32);
  setup.plan.schedule.learning_rate = 0.1F;
  for (const auto& device : devices) setup.devices.push_back(make_device(device));
  return setup;
}

/// Two epochs with an evaluation and a checkpoint after each.
Outcome run(const Dataset& data, const std::string& strategy,
            const std::vector<std::string>& devices, long fails_from) {
  Outcome outcome;
  opencl::fail_from_call(fails_from);
  std::unique_ptr<Engine> engine;
  try {
    engine = std::make_unique<Engine>(setup_for(data, strategy, devices));
    engine->models().give(0, start_of(small_network(data)));
  } catch (const DeviceError&) {
    outcome.refused = true;
    return outcome;
  }
  std::vector<std::uint32_t> rows(data.rows());
  for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
  Position position;
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
    EXPECT_TRUE(engine->run_epoch(position, go_on));
    EXPECT_EQ(position.next_row, data.rows());
    position = {position.step, epoch + 1, 0, 0};
    engine->evaluate([&](Replica& replica) {
      Predictions predictions;
      predictions.k = 1;
      replica.predict({&data, rows}, predictions);
      outcome.evaluated += predictions.rows();
      return 0;
    });
    FloatBuffer model = engine->models().take(0);
    EXPECT_TRUE(std::isfinite(model[0]));
    engine->models().give(0, std::move(model));
  }
  outcome.lost = engine->take_dropped_workers().size();
  outcome.calls = opencl::fail_from_call(-1);
  return outcome;
}

class DeviceFailure : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_device("opencl")) GTEST_SKIP() << "no OpenCL device here";
  }
  void TearDown() override { opencl::fail_from_call(-1); }
};

TEST_P(DeviceFailure, AtEveryCallTheOtherDeviceFinishes) {
  const Dataset data = small_data(96);
  for (const std::vector<std::string>& devices :
       {std::vector<std::string>{"cpu:1", "opencl:0.0"}, {"opencl:0.0", "cpu:1"}}) {
    const Outcome whole = run(data, GetParam(), devices, -1);
    ASSERT_EQ(whole.lost, 0U);
    ASSERT_GT(whole.calls, 50);
    bool trained_with_a_loss = false;
    const long stride = kSanitized ? 7 : 1;
    for (long call = 0; call < whole.calls; call += stride) {
      const Outcome outcome = run(data, GetParam(), devices, call);
      ASSERT_FALSE(HasFailure()) << "failing from call " << call;
      if (outcome.refused) {
        EXPECT_FALSE(trained_with_a_loss) << "refused at call " << call << ", after the start";
        continue;
      }
      ASSERT_EQ(outcome.evaluated, 2 * data.rows()) << "failing from call " << call;
      // An idle worker gets the next batch, so the device may have fewer calls than the time
      // before.
      if (outcome.lost == 0) continue;
      trained_with_a_loss = true;
      ASSERT_EQ(outcome.lost, 1U);
    }
    EXPECT_TRUE(trained_with_a_loss);
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, DeviceFailure,
                         testing::Values("sync", "elastic", "sma", "adaptive-sgd",
                                         "hogbatch:cpu-batch=4", "adaptive-hogbatch",
                                         "local-sgd:period=2", "gossip",
                                         "adaptive-gossip:merge=pushsum:warmup=2"),
                         [](const auto& strategy) {
                           std::string name = strategy.param.substr(0, strategy.param.find(':'));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(DeviceFailure, TheRunFailsWithTheReasonIfTheOnlyDeviceFails) {
  if (!has_device("opencl")) GTEST_SKIP() << "no OpenCL device here";
  const Dataset data = small_data(100);
  Engine engine(setup_for(data, "sequential", {"opencl:0.0"}));
  engine.models().give(0, FloatBuffer(layout_of(small_network(data)).size));
  opencl::fail_from_call(40);
  Position position;
  try {
    engine.run_epoch(position, go_on);
    ADD_FAILURE() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("opencl:0.0: injected failure"), std::string::npos)
        << error.what();
  }
  opencl::fail_from_call(-1);
}

}  // namespace
}  // namespace evener
