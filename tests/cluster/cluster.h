// A cluster in one process: a coordinator, its workers and shard servers on threads, over any
// transport.
#pragma once

#include <atomic>
#include <thread>

#include "tests/cluster/test_network.h"
#include "tests/cluster/transport/inbox.h"
#include "tests/device/random_data.h"
#include "tests/runtime/fakes.h"
#include "tests/runtime/small_setup.h"
#include <fmt/format.h>

#include "evener/cluster/parameter_server/coordinator.h"
#include "evener/cluster/parameter_server/shard_server.h"
#include "evener/cluster/parameter_server/worker.h"

namespace evener {

struct ClusterSetting {
  std::string strategy = "bsp";
  int workers = 2;
  Optimizer optimizer = Optimizer::sgd;
  std::uint32_t epochs = 2;
};

inline EngineSetup engine_setup_of(const Dataset& data, const ClusterSetting& setting) {
  EngineSetup setup = small_setup(data, setting.strategy, 32);
  setup.training.optimizer = setting.optimizer;
  if (setting.optimizer == Optimizer::adam) setup.plan.schedule.learning_rate = 0.01F;
  return setup;
}

struct ClusterResult {
  std::vector<float> parameters;
  std::vector<WorkerTotals> workers;
  std::vector<std::string> notes, losses;
  std::size_t steps = 0;
};

/// Calls `each_step` after every step with the number of steps.
template <class F>
ClusterResult train_engine(EngineSetup setup, const ClusterSetting& setting, F each_step) {
  const Network network = setup.network;
  Engine engine(std::move(setup));
  engine.models().give(0, start_of(network));
  ClusterResult result;
  Position position;
  for (std::uint32_t epoch = 0; epoch < setting.epochs; ++epoch) {
    const bool whole = engine.run_epoch(position, [&](const StepReport&) {
      each_step(++result.steps);
      return true;
    });
    if (!whole) throw Error("an epoch did not end");
    position = {position.step, epoch + 1, 0, 0};
  }
  const FloatBuffer end = engine.models().take(0);
  result.parameters.assign(end.data(), end.data() + end.size());
  result.workers = engine.timeline().totals();
  result.notes = engine.take_notes();
  result.losses = engine.take_dropped_workers();
  return result;
}
inline ClusterResult train_engine(EngineSetup setup, const ClusterSetting& setting) {
  return train_engine(std::move(setup), setting, [](std::size_t) {});
}

/// The same in one process without a network.
inline ClusterResult train_without_network(const Dataset& data, const ClusterSetting& setting) {
  EngineSetup setup = engine_setup_of(data, setting);
  for (int i = 0; i < setting.workers; ++i) setup.devices.push_back(make_device("cpu:1"));
  return train_engine(std::move(setup), setting);
}

/// A worker on a thread of its own.
class TestWorker {
 public:
  TestWorker(const Dataset& data, const ClusterSetting& setting, const TestAddress& coordinator,
             int rank, WorkerOptions options = {}) {
    options.coordinator = coordinator.address;
    options.transport = coordinator.network.transport();
    options.rank = rank;
    if (options.name.empty()) options.name = fmt::format("worker {}", rank);
    options.interrupted = [this] { return stop_ ? 2 : 0; };
    thread_ = std::thread([this, &data, setting, options] {
      try {
        code_ =
            run_worker(options, [&](const Job&, int slot) { return work(data, setting, slot); });
      } catch (const std::exception& problem) {
        error_ = problem.what();
      }
    });
  }
  ~TestWorker() { wait(); }
  /// Ends it as a signal would.
  void stop() { stop_ = true; }
  /// Its error; empty: there was none.
  std::string wait() {
    if (thread_.joinable()) thread_.join();
    return error_;
  }

  /// The exit code of its process, after wait().
  int code() const { return code_; }

  /// The fingerprint of the data of these tests.
  static DataFingerprint print(const Dataset& data) { return {data.rows(), 1, 2, 3}; }

 private:
  static NodeWork work(const Dataset& data, const ClusterSetting& setting, int slot) {
    const EngineSetup setup = engine_setup_of(data, setting);
    NodeWork work;
    work.network = setup.network;
    work.compression = setup.strategy.compression();
    work.data = print(data);
    const std::shared_ptr<Device> device = make_device("cpu:1");
    const Training training = training_of_worker(setup.training, static_cast<std::size_t>(slot));
    work.owner = device;
    work.replica = std::make_unique<NodeReplica>(device->make_replica(setup.network, training),
                                                 setup.network, data, work.compression);
    return work;
  }

  std::atomic<bool> stop_ = false;
  std::string error_;
  int code_ = 0;
  std::thread thread_;
};

/// A server on a thread of its own.
class TestServer {
 public:
  /// `listen`: where; empty: any free address.
  explicit TestServer(const TestAddress& coordinator, ShardServerOptions options = {},
                      const std::string& listen = "") {
    options.coordinator = coordinator.address;
    options.transport = coordinator.network.transport();
    options.listen = listen.empty() ? coordinator.network.any_address() : listen;
    options.interrupted = [this] { return stop_ ? 2 : 0; };
    thread_ = std::thread([this, options] {
      try {
        run_shard_server(options);
      } catch (const std::exception& problem) {
        error_ = problem.what();
      }
    });
  }
  ~TestServer() { wait(); }
  void stop() { stop_ = true; }
  /// Its error; empty: there was none.
  std::string wait() {
    if (thread_.joinable()) thread_.join();
    return error_;
  }

 private:
  std::atomic<bool> stop_ = false;
  std::string error_;
  std::thread thread_;
};

/// Tests of a cluster over each transport.
class ClusterTest : public testing::TestWithParam<TransportKind> {
 protected:
  explicit ClusterTest(std::size_t rows = 500) : data_(make_data(rows)) {}
  static Dataset make_data(std::size_t rows) {
    Random random(3);
    return random_data(random, rows, 40, 12);
  }
  CoordinatorOptions options_for(int least, int most) const {
    CoordinatorOptions options;
    options.listen = network_.any_address();
    options.transport = network_.transport();
    options.least = least;
    options.most = most;
    options.patience = kSoon;
    return options;
  }
  /// A coordinator that workers can join.
  std::shared_ptr<ClusterCoordinator> coordinator(const CoordinatorOptions& options) const {
    std::shared_ptr<ClusterCoordinator> nodes = make_coordinator(options);
    nodes->offer({{}, TestWorker::print(data_), 16});
    return nodes;
  }
  TestAddress address_of(const ClusterCoordinator& coordinator) const {
    return {network_, coordinator.address()};
  }
  EngineSetup cluster_setup(const ClusterSetting& setting,
                            std::shared_ptr<ClusterCoordinator> nodes) const {
    EngineSetup setup = engine_setup_of(data_, setting);
    setup.devices.push_back(make_device("cpu:1"));
    setup.remote_workers = std::move(nodes);
    return setup;
  }

  TestNetwork network_{GetParam()};
  Dataset data_;
};

}  // namespace evener
