// Every strategy on real replicas, in real and in virtual time.
#include <cmath>
#include <set>

#include "tests/nn/problem.h"
#include "tests/runtime/fakes.h"
#include "tests/runtime/small_setup.h"
#include <gtest/gtest.h>

namespace evener {
namespace {

struct Setting {
  std::string strategy;
  std::vector<std::string> devices{"cpu:1"};
  std::vector<DeviceModel> models{};  // not empty: virtual time
  Optimizer optimizer = Optimizer::adam;
  std::size_t batch = 16;
  std::uint32_t epochs = 2;
  float dropout = 0.2F;
  std::uint64_t seed = 1;
  int servers = 1;
  double server_bandwidth = 0;
  std::size_t pause_every = 0;  // reports; 0: never
  bool listed = false;          // the data has candidates
};

struct Trained {
  std::vector<float> parameters;
  double loss = 0;      // mean of the last epoch
  Seconds seconds = 0;  // on the engine's clock
  std::uint64_t steps = 0;
  std::vector<WorkerTotals> workers;
};

Trained trained(const Dataset& data, const Setting& setting) {
  EngineSetup setup = small_setup(data, setting.strategy, setting.batch);
  setup.training.optimizer = setting.optimizer;
  setup.training.dropout = setting.dropout;
  if (setting.optimizer == Optimizer::adam) setup.plan.schedule.learning_rate = 0.01F;
  setup.plan.seed = setting.seed;
  if (setting.listed) {
    setup.network.loss = Loss::sigmoid;
    setup.network.output = Output::listed;
    setup.training.epsilon = 1e-3F;
    setup.plan.schedule.learning_rate = 0.1F;
  }
  if (setting.models.empty()) {
    for (const auto& device : setting.devices) setup.devices.push_back(make_test_device(device));
  } else {
    setup.virtual_time.emplace();
    setup.virtual_time->devices = setting.models;
    setup.virtual_time->seed = setting.seed;
    setup.virtual_time->servers = setting.servers;
    setup.virtual_time->server_bandwidth = setting.server_bandwidth;
  }
  const Network network = setup.network;
  const int vectors = 1 + state_vectors(setting.optimizer);
  Engine engine(std::move(setup));
  engine.models().give(0, start_of(network));
  for (int v = 1; v < vectors; ++v) engine.models().give(v, FloatBuffer(layout_of(network).size));
  Trained result;
  Position position;
  for (std::uint32_t epoch = 0; epoch < setting.epochs; ++epoch) {
    std::size_t reports = 0;
    while (!engine.run_epoch(position, [&](const StepReport&) {
      return setting.pause_every == 0 || ++reports % setting.pause_every != 0;
    })) {
      if (setting.pause_every == 0) ADD_FAILURE() << "paused by itself";
    }
    result.loss = position.loss_sum / static_cast<double>(data.rows());
    position = {position.step, epoch + 1, 0, 0};
  }
  const FloatBuffer end = engine.models().take(0);
  result.parameters.assign(end.data(), end.data() + end.size());
  result.seconds = engine.now();
  result.steps = position.step;
  result.workers = engine.timeline().totals();
  return result;
}

DeviceModel model(double per_row, bool in_place = false, int threads = 1) {
  DeviceModel device;
  device.name = "model";
  device.fixed = 1e-3;
  device.per_row = per_row;
  device.in_place = in_place;
  device.threads = threads;
  return device;
}

class SingleWorker : public testing::TestWithParam<std::string> {
 protected:
  /// The strategy against `plain`, which is sequential: on a real device, and on simulated ones.
  static void expect_same_bits(const Dataset& data, const Setting& plain) {
    SCOPED_TRACE(to_string(plain.optimizer));
    const auto expected = trained(data, plain).parameters;
    Setting setting = plain;
    setting.strategy = GetParam();
    EXPECT_EQ(trained(data, setting).parameters, expected);
    setting.models = {model(1e-4, true)};
    EXPECT_EQ(trained(data, setting).parameters, expected) << "virtual";
    setting.models = {model(1e-4, false)};
    if (GetParam().starts_with("hogwild")) return;  // takes CPUs only
    EXPECT_EQ(trained(data, setting).parameters, expected) << "on a card";
  }
};

TEST_P(SingleWorker, EqualsSequentialBitForBitInRealAndVirtualTime) {
  const Dataset data = small_data(300);
  for (const auto optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam}) {
    expect_same_bits(data, {.strategy = "sequential", .optimizer = optimizer});
  }
}

TEST_P(SingleWorker, EqualsSequentialWithAListedOutput) {
  const Dataset data = with_random_candidates(small_data(300), 5);
  for (const auto optimizer : {Optimizer::sgd, Optimizer::adagrad}) {
    expect_same_bits(data, {.strategy = "sequential", .optimizer = optimizer, .listed = true});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, SingleWorker,
    testing::Values("sequential", "hogwild:cpu-batch=16",
                    "hogbatch:cpu-batch=16:accelerator-batch=16",
                    "hogbatch:cpu-batch=16:accelerator-batch=16:writeback=overwrite",
                    "adaptive-hogbatch:cpu-batch=16:accelerator-batch=16:accelerator-min=1", "sync",
                    "adaptive-sgd:gamma=0:mega-batch=3", "local-sgd:period=3", "gossip",
                    "adaptive-gossip", "gossip:merge=pushsum",
                    "gossip:rows=changed:compress=top-k"),
    [](const auto& instance) {
      std::string name;
      for (const char c : instance.param) name += std::isalnum(c) != 0 ? c : '_';
      return name;
    });

TEST(Sync, TwoWorkersEqualOneWithTheWholeBatch) {
  const Dataset data = small_data(320);
  for (const auto optimizer : {Optimizer::sgd, Optimizer::adam}) {
    Setting one{.strategy = "sequential"};
    one.optimizer = optimizer;
    one.dropout = 0;
    const auto expected = trained(data, one).parameters;
    for (const char* strategy : {"sync", "sync:split=speed"}) {
      Setting two = one;
      two.strategy = strategy;
      two.devices = {"cpu:1", "cpu:1"};
      const auto actual = trained(data, two).parameters;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(actual[i], expected[i], 2e-4)
            << i << " " << strategy << " " << to_string(optimizer);
      }
    }
  }
}

TEST(Sync, TwoWorkersEqualOneWithAListedOutput) {
  const Dataset data = with_random_candidates(small_data(320), 5);
  Setting one{.strategy = "sequential", .optimizer = Optimizer::adagrad, .listed = true};
  one.dropout = 0;
  const auto expected = trained(data, one).parameters;
  Setting two = one;
  two.strategy = "sync";
  for (const char* second : {"cpu:1", "remote"}) {
    two.devices = {"cpu:1", second};
    const auto actual = trained(data, two).parameters;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[i], 2e-4) << i << " " << second;
    }
  }
}

// Rows that are reserved or not assigned when a run pauses must not become updates of a few rows:
// their noise would stay in Adam's state for long.
TEST(Sync, APauseMakesNoSmallUpdate) {
  const Dataset data = small_data(320);
  for (const char* strategy : {"sync", "sync:split=speed"}) {
    for (const char* second : {"cpu:1", "remote"}) {
      Setting setting{.strategy = strategy, .devices = {"remote", second}};
      setting.dropout = 0;
      const Trained whole = trained(data, setting);
      setting.pause_every = 3;
      const Trained paused = trained(data, setting);
      // An epoch may have one update more: its last rows are not always a whole batch.
      EXPECT_LE(paused.steps, 2U * (320 / 16 + 1)) << strategy << " " << second;
      // Only the batches that the rows are in differ.
      EXPECT_NEAR(paused.loss, whole.loss, 0.05 * whole.loss) << strategy << " " << second;
    }
  }
}

class AnyStrategy : public testing::TestWithParam<std::string> {};

TEST_P(AnyStrategy, LearnsOnTwoRealThreads) {
  const Dataset data = small_data(600);
  Setting setting{.strategy = GetParam()};
  setting.devices = {"cpu:1", "cpu:2"};
  setting.epochs = 1;
  const double first = trained(data, setting).loss;
  setting.epochs = 6;
  EXPECT_LT(trained(data, setting).loss, first);
}

// Rows of features and of labels change sparsely: every kind of sharing moves the right ones.
TEST_P(AnyStrategy, LearnsWithAListedOutput) {
  const Dataset data = with_random_candidates(small_data(600), 5);
  Setting setting{.strategy = GetParam(), .optimizer = Optimizer::adagrad, .listed = true};
  setting.dropout = 0;
  setting.devices = {"cpu:1", "cpu:2"};
  setting.epochs = 1;
  const double first = trained(data, setting).loss;
  setting.epochs = 6;
  EXPECT_LT(trained(data, setting).loss, 0.95 * first);
  const bool all_in_place = parse_strategy(GetParam()).strategy->sharing == Sharing::in_place;
  setting.models = {model(1e-3, true, 3), model(1e-4, all_in_place), model(3e-4, true)};
  const Trained simulated = trained(data, setting);
  EXPECT_LT(simulated.loss, 0.95 * first);
  EXPECT_EQ(trained(data, setting).parameters, simulated.parameters);
}

TEST_P(AnyStrategy, VirtualTimeIsDeterministicToTheBit) {
  const Dataset data = small_data(400);
  Setting setting{.strategy = GetParam()};
  const bool all_in_place = parse_strategy(GetParam()).strategy->sharing == Sharing::in_place;
  setting.models = {model(1e-3, true, 3), model(1e-4, all_in_place), model(3e-4, true)};
  setting.models[1].jitter = 0.2;
  setting.models[2].burst_every = 0.05;
  setting.models[2].burst_seconds = 0.02;
  const Trained first = trained(data, setting), second = trained(data, setting);
  EXPECT_EQ(first.parameters, second.parameters);
  EXPECT_EQ(first.seconds, second.seconds);
  setting.seed = 2;
  EXPECT_NE(trained(data, setting).parameters, first.parameters);
}

/// These, and every other strategy of the catalogue with its defaults: a new one needs no line
/// here.
std::vector<std::string> all_strategies() {
  std::vector<std::string> texts{"hogwild",
                                 "hogbatch:cpu-batch=8:accelerator-batch=32",
                                 "adaptive-hogbatch:cpu-batch=8:accelerator-batch=64",
                                 "sync",
                                 "elastic:period=3",
                                 "sma",
                                 "adaptive-sgd:mega-batch=5:gamma=0.5",
                                 "bsp:local-steps=2",
                                 "asp:staleness-lr=on",
                                 "ssp:s=1",
                                 "dssp:s-low=1:s-high=3",
                                 "dasp:server-momentum=0.5",
                                 "local-sgd:period=3",
                                 "gossip",
                                 "adaptive-gossip:warmup=3:rows=changed"};
  std::set<std::string> listed;
  for (const auto& text : texts) listed.insert(parse_strategy(text).strategy->name);
  for (const auto& strategy : strategies()) {
    if (strategy.sharing != Sharing::single && !listed.contains(strategy.name)) {
      texts.push_back(strategy.name);
    }
  }
  return texts;
}

INSTANTIATE_TEST_SUITE_P(Strategies, AnyStrategy, testing::ValuesIn(all_strategies()),
                         [](const auto& instance) {
                           std::string name = instance.param.substr(0, instance.param.find(':'));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Gossip, NodesThatNeverExchangeEqualLocalSgdToTheBit) {
  const Dataset data = small_data(640);
  Setting alone{.strategy = "adaptive-gossip:eps=inf:k-max=inf:warmup=0"};
  alone.models = {model(1e-3), model(2e-3), model(1e-3)};
  alone.epochs = 1;
  Setting local = alone;
  local.strategy = "local-sgd:period=1000";
  const Trained never = trained(data, alone);
  EXPECT_EQ(never.parameters, trained(data, local).parameters);
  for (const auto& worker : never.workers) EXPECT_EQ(worker.bytes, 0U);
}

TEST(Gossip, WithAThresholdOfZeroAdaptiveGossipExchangesLikeGossip) {
  const Dataset data = small_data(640);
  for (const char* more : {"", ":overlap=0", ":merge=pushsum"}) {
    Setting every{.strategy = std::string("gossip") + more};
    every.models = {model(1e-3), model(2e-3), model(1e-3)};
    Setting adaptive = every;
    adaptive.strategy = std::string("adaptive-gossip:eps=0:k-min=1:warmup=0") + more;
    const Trained plain = trained(data, every);
    EXPECT_EQ(trained(data, adaptive).parameters, plain.parameters) << more;
    EXPECT_GT(plain.workers[0].exchanges, 10U) << more;
  }
}

TEST(Gossip, ExchangesAndBytesAreCounted) {
  const Dataset data = small_data(640, 300);
  const Network network = small_network(data);
  const std::size_t whole = 4 * layout_of(network).size;
  const auto bytes = [&](const std::string& strategy) {
    Setting setting{.strategy = strategy};
    setting.models.assign(4, model(1e-3));
    std::uint64_t sum = 0, exchanges = 0;
    for (const auto& worker : trained(data, setting).workers) {
      sum += worker.bytes;
      exchanges += worker.exchanges;
    }
    EXPECT_GT(exchanges, 0U) << strategy;
    return std::pair(static_cast<double>(sum), static_cast<double>(exchanges));
  };
  // Both peers of an exchange send their model; a declined offer was sent too.
  const auto [every, exchanges] = bytes("gossip:overlap=0");
  EXPECT_GE(every, exchanges * static_cast<double>(whole));
  EXPECT_LT(bytes("gossip:overlap=0:period=8").first, 0.25 * every);
  EXPECT_LT(bytes("gossip:overlap=0:rows=changed:eps-rows=0").first, 0.8 * every);
  EXPECT_LT(bytes("gossip:overlap=0:compress=fp16").first, 0.51 * every);
  EXPECT_LT(bytes("gossip:overlap=0:compress=top-k").first, 0.05 * every);
  EXPECT_LT(bytes("adaptive-gossip:overlap=0:warmup=2:eps=0.5").first, 0.5 * every);
}

TEST(Gossip, ReplicasStayCloseAndTheirMeanLearns) {
  const Dataset data = small_data(1600);
  for (const char* strategy :
       {"gossip", "gossip:merge=pushsum", "gossip:peer-choice=ring", "gossip:rows=changed",
        "adaptive-gossip:k-max=8", "gossip:peer-choice=speed-aware:overlap=0",
        "gossip:compress=fp16", "gossip:compress=top-k:top-k=0.1",
        "gossip:merge=pushsum:compress=fp16"}) {
    Setting setting{.strategy = strategy};
    setting.models = {model(1e-3), model(3e-3), model(1e-3), model(1e-3)};
    setting.epochs = 1;
    const double first = trained(data, setting).loss;
    setting.epochs = 6;
    EXPECT_LT(trained(data, setting).loss, 0.9 * first) << strategy;
  }
}

TEST(VirtualTime, ASecondEqualDeviceHalvesTheTime) {
  const Dataset data = small_data(1600);
  Setting setting{.strategy = "adaptive-sgd:mega-batch=20"};
  setting.models = {model(1e-3)};
  const double alone = trained(data, setting).seconds;
  setting.models.push_back(model(1e-3));
  const double together = trained(data, setting).seconds;
  EXPECT_GT(alone / together, 1.8);
  EXPECT_LT(alone / together, 2.05);
}

TEST(VirtualTime, ASlowDeviceDelaysSyncAndNotAdaptiveSgd) {
  const Dataset data = small_data(1600);
  Setting setting{.strategy = "sync"};
  setting.models = {model(1e-3), model(4e-3)};
  const double sync = trained(data, setting).seconds;
  setting.strategy = "adaptive-sgd:mega-batch=10";
  const double adaptive = trained(data, setting).seconds;
  EXPECT_GT(sync / adaptive, 1.5);
}

// Speeds decide which worker waits, not what is computed: the rows of every round are the same.
TEST(Bsp, ResultsDoNotDependOnSpeeds) {
  const Dataset data = small_data(480);
  Setting setting{.strategy = "bsp"};
  setting.batch = 48;
  setting.models = {model(1e-3), model(1e-3), model(1e-3)};
  const Trained equal = trained(data, setting);
  setting.models = {model(4e-3), model(1e-3), model(2e-3)};
  setting.models[1].jitter = 0.3;
  const Trained unequal = trained(data, setting);
  EXPECT_EQ(unequal.parameters, equal.parameters);
  EXPECT_GT(unequal.seconds, 3 * equal.seconds);
  setting.strategy = "dasp:beta=inf:split=equal";
  EXPECT_EQ(trained(data, setting).parameters, equal.parameters);
  // With a split by throughput a slow worker gets fewer rows, so the rows of an update differ.
  setting.strategy = "bsp:split=speed";
  const Trained paced = trained(data, setting);
  EXPECT_LT(paced.seconds, 0.8 * unequal.seconds);
  setting.strategy = "dasp:beta=inf";
  EXPECT_EQ(trained(data, setting).parameters, paced.parameters);
}

TEST(Dasp, DoesNotWaitForAStragglerAsBspDoes) {
  const Dataset data = small_data(1600);
  Setting setting{.strategy = "bsp"};
  setting.batch = 64;
  setting.models = {model(1e-3), model(1e-3), model(1e-3), model(8e-3)};
  const double bsp = trained(data, setting).seconds;
  setting.strategy = "dasp";
  EXPECT_GT(bsp / trained(data, setting).seconds, 4);
}

TEST(Server, OtherNodesTrainTheRowsOfOneThatFails) {
  const Dataset data = small_data(800);
  for (const char* strategy : {"bsp", "asp", "ssp:s=0", "dssp", "dasp", "dasp:beta=inf"}) {
    Setting setting{.strategy = strategy};
    setting.models = {model(1e-3), model(1e-3), model(1e-3)};
    setting.models[1].fails_at = 0.1;
    const Trained result = trained(data, setting);
    EXPECT_EQ(result.workers[0].rows + result.workers[1].rows + result.workers[2].rows, 1600U)
        << strategy;
    EXPECT_LT(result.workers[1].rows, 200U) << strategy;
  }
}

// In every strategy it gets the current model, and its share of the rows from then on.
TEST_P(AnyStrategy, ADeviceThatJoinsLateTakesPart) {
  const Dataset data = small_data(1600);
  Setting setting{.strategy = GetParam()};
  const bool in_place = GetParam() == "hogwild";
  setting.models = {model(1e-3, in_place), model(1e-3, in_place), model(1e-3, in_place)};
  const Trained all = trained(data, setting);
  for (const std::size_t joiner : {1, 2}) {  // the policy learns of the last one only then
    Setting joining = setting;
    joining.models[joiner].joins_at = all.seconds;
    const Trained late = trained(data, joining);
    EXPECT_EQ(late.workers[0].rows + late.workers[1].rows + late.workers[2].rows, 3200U);
    EXPECT_GT(late.workers[joiner].rows, 0U);
    EXPECT_LT(late.workers[joiner].rows, late.workers[0].rows);
    EXPECT_GT(late.seconds, all.seconds);
    EXPECT_LT(late.loss, 1.5 * all.loss);
  }
}

TEST(VirtualTime, OtherDevicesTrainTheRowsOfOneThatFails) {
  const Dataset data = small_data(800);
  Setting setting{.strategy = "adaptive-sgd:mega-batch=5"};
  setting.models = {model(1e-3), model(1e-3)};
  setting.models[1].fails_at = 0.2;
  const Trained result = trained(data, setting);
  EXPECT_GE(result.workers[0].rows, 1200U);
  EXPECT_LT(result.workers[1].rows, 400U);
}

TEST(Hogbatch, OverwritingLosesUpdatesOfOthersAndDeltasDoNot) {
  // The accelerator's steps are slow; the CPU does many meanwhile.
  const Dataset data = small_data(600);
  Setting setting{.strategy = "hogbatch:cpu-batch=4:accelerator-batch=64"};
  setting.optimizer = Optimizer::sgd;
  setting.dropout = 0;
  setting.models = {model(1e-4, true), model(2e-3)};
  const double delta = trained(data, setting).loss;
  setting.strategy += ":writeback=overwrite";
  const double overwrite = trained(data, setting).loss;
  EXPECT_LT(delta, overwrite);
}

TEST(Links, ASlowLinkCostsACopyInEachDirection) {
  const Dataset data = small_data(64);
  Setting setting{.strategy = "hogbatch:accelerator-batch=64"};
  setting.epochs = 1;
  setting.models = {model(1e-4)};
  const double without = trained(data, setting).seconds;
  setting.models[0].bandwidth = 1e6;
  setting.models[0].latency = 1e-3;
  const double with = trained(data, setting).seconds;
  const Network network = small_network(data);
  const double bytes = 4.0 * static_cast<double>(layout_of(network).size);
  const double rows = 8.0 * static_cast<double>(data.features.nonzeros());
  EXPECT_NEAR(with - without, 3e-3 + (2 * bytes + rows) / 1e6, 1e-9);
}

// Nodes without links: they wait only for the servers.
TEST(Links, PullsAndPushesQueueAtTheServers) {
  const Dataset data = small_data(64);
  Setting setting{.strategy = "bsp"};
  setting.epochs = 1;
  setting.batch = 64;
  setting.models = {model(1e-4)};
  const Network network = small_network(data);
  const double without = trained(data, setting).seconds;
  setting.server_bandwidth = 1e6;
  const Trained limited = trained(data, setting);
  const double pass = static_cast<double>(limited.workers[0].bytes) / 1e6;
  EXPECT_GE(limited.workers[0].bytes, 4 * layout_of(network).size) << "a whole pull";
  EXPECT_NEAR(limited.seconds - without, pass, 1e-9) << "a single node does not wait";
  setting.servers = 4;
  const double apply_pushes_calls = static_cast<double>(2 * 4 * layout_of(network).size) / 1e10;
  EXPECT_NEAR(trained(data, setting).seconds - without, pass / 4 - apply_pushes_calls * 3 / 4,
              1e-9);

  // Four pulls at once: each waits for those before it.
  setting.servers = 1;
  setting.models.resize(4, model(1e-4));
  setting.server_bandwidth = 0;
  const double alone = trained(data, setting).seconds;
  setting.server_bandwidth = 1e6;
  const Trained four = trained(data, setting);
  double all = 0;
  for (const auto& worker : four.workers) all += static_cast<double>(worker.bytes) / 1e6;
  EXPECT_GT(four.seconds - alone, 0.6 * all);
  EXPECT_LE(four.seconds - alone, all + 1e-9);
  EXPECT_EQ(four.parameters, trained(data, setting).parameters);
}

// Devices with their own memory transfer only changed rows, and must not miss one. These strategies
// decide by rounds, so that the order of arrivals does not matter.
class RemoteMemory : public testing::TestWithParam<std::string> {};

TEST_P(RemoteMemory, EqualsHostMemoryToTheBit) {
  const Dataset data = small_data(200, 300);  // most features do not occur in most rounds
  Setting local{GetParam(), {"cpu:1", "cpu:1"}};
  Setting remote{GetParam(), {"remote", "cpu:1"}};
  EXPECT_EQ(trained(data, remote).parameters, trained(data, local).parameters);
  remote.devices = {"remote", "remote"};
  EXPECT_EQ(trained(data, remote).parameters, trained(data, local).parameters);
}

INSTANTIATE_TEST_SUITE_P(Rounds, RemoteMemory, testing::Values("sync", "sma"));

TEST(RemoteMemory, CopiesOfASharedModelMissNoChange) {
  const Dataset data = small_data(200, 300);
  const Setting local{"sequential", {"cpu:1"}, {}, Optimizer::sgd};
  const Setting remote{"hogbatch:accelerator-batch=16", {"remote"}, {}, Optimizer::sgd};
  EXPECT_EQ(trained(data, remote).parameters, trained(data, local).parameters);
}

}  // namespace
}  // namespace evener
