// Several devices as one replica.
#include "evener/runtime/engine_replica.h"

#include <numeric>

#include "tests/device/random_data.h"
#include <gtest/gtest.h>

#include "evener/nn/initialise.h"

namespace evener {
namespace {

struct Trial {
  std::vector<float> parameters;
  double loss = 0;
};

class EngineReplicaTest : public testing::Test {
 protected:
  EngineReplicaTest() {
    Random random(4);
    data_ = random_data(random, 64, 30, 10);
    network_ = {.features = 30, .hidden = {6}, .labels = 10};
  }
  EngineSetup setup(const std::string& strategy, int devices) const {
    EngineSetup setup;
    setup.network = network_;
    setup.training.optimizer = Optimizer::sgd;
    setup.plan.data = &data_;
    setup.strategy = parse_strategy(strategy);
    setup.batch = 32;
    for (int i = 0; i < devices; ++i) setup.devices.push_back(make_device("cpu:1"));
    return setup;
  }
  Trial train(Replica& replica) const {
    FloatBuffer start(layout_of(network_).size);
    initialise(network_, 5, start.span());
    replica.load(0, start.span());
    std::vector<std::uint32_t> rows(data_.rows());
    std::iota(rows.begin(), rows.end(), 0U);
    Trial trial;
    for (std::uint64_t i = 0; i < 20; ++i) {
      trial.loss = replica.step({&data_, std::span(rows).subspan(32 * (i % 2), 32)}, {i + 1, 0.3F});
    }
    trial.parameters.resize(layout_of(network_).size);
    replica.store(0, trial.parameters);
    return trial;
  }
  Dataset data_;
  Network network_;
};

TEST_F(EngineReplicaTest, SynchronousDevicesEqualOneReplicaUpToRounding) {
  const auto together = make_engine_replica(setup("sync", 2));
  Training training;
  training.optimizer = Optimizer::sgd;
  const auto alone = make_device("cpu:1")->make_replica(network_, training);
  const Trial a = train(*together), b = train(*alone);
  EXPECT_NEAR(a.loss, b.loss, 1e-4);
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    ASSERT_NEAR(a.parameters[i], b.parameters[i], 1e-4) << i;
  }
}

TEST_F(EngineReplicaTest, EveryStrategyOfOneMachineLearns) {
  for (const char* strategy : {"hogwild", "hogbatch", "adaptive-hogbatch", "sync", "elastic", "sma",
                               "adaptive-sgd", "local-sgd"}) {
    EngineSetup both = setup(strategy, 2);
    const auto replica = make_engine_replica(std::move(both));
    const Trial trial = train(*replica);
    Predictions out;
    out.k = 1;
    const std::vector<std::uint32_t> rows{0, 1, 2};
    replica->predict({&data_, rows}, out);
    EXPECT_EQ(out.rows(), 3U) << strategy;
    EXPECT_LT(trial.loss, 6.5) << strategy;  // 0.69 per label without training
  }
}

TEST_F(EngineReplicaTest, StepsFromTheParametersGivenLast) {
  for (const std::string strategy : {"hogwild", "hogbatch", "adaptive-hogbatch", "sync", "elastic",
                                     "sma", "adaptive-sgd:perturbation=off", "local-sgd"}) {
    const auto replica = make_engine_replica(setup(strategy, 2));
    train(*replica);
    FloatBuffer other(layout_of(network_).size);
    initialise(network_, 6, other.span());
    replica->load(0, other.span());
    std::vector<std::uint32_t> rows(32);
    std::iota(rows.begin(), rows.end(), 0U);
    replica->step({&data_, rows}, {21, 0.0F});  // rate 0: it changes nothing
    std::vector<float> parameters(layout_of(network_).size);
    replica->store(0, parameters);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      ASSERT_NEAR(parameters[i], other[i], 1e-6) << strategy << " " << i;
    }
  }
}

}  // namespace
}  // namespace evener
