// A cluster that is resumed from a checkpoint ends bit for bit like one that was not interrupted.
// This includes worker states and the server's momentum.
#include "evener/cluster/parameter_server/worker_states.h"

#include <cmath>
#include <limits>
#include <tuple>

#include "tests/cluster/cluster.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evener {
namespace {

struct Saved {
  std::vector<FloatBuffer> vectors;  // the model, and the optimizer's
  KeptVectors kept;
  Position position;
  std::vector<std::uint64_t> steps;
};

/// The number of servers that hold the model, and the transport. -1: one process without a cluster.
class WorkerStatesTest : public testing::TestWithParam<std::tuple<int, TransportKind>> {
 protected:
  WorkerStatesTest() : data_(make_data()) {}
  static Dataset make_data() {
    Random random(3);
    return random_data(random, 300, 40, 12);
  }

  int servers() const { return std::get<0>(GetParam()); }
  void begin_cluster() {
    if (servers() < 0) return;
    CoordinatorOptions options;
    options.listen = network_.any_address();
    options.transport = network_.transport();
    options.least = options.most = 2;
    options.servers = servers();
    nodes_ = make_coordinator(options);
    nodes_->offer({{}, TestWorker::print(data_), 16});
    const TestAddress address{network_, nodes_->address()};
    for (int i = 0; i < servers(); ++i) servers_.push_back(std::make_unique<TestServer>(address));
    for (int i = 0; i < 2; ++i) {
      workers_.push_back(std::make_unique<TestWorker>(data_, setting_, address, i));
    }
  }
  void end_cluster() {
    nodes_.reset();
    for (auto& worker : workers_) EXPECT_EQ(worker->wait(), "");
    for (auto& server : servers_) EXPECT_EQ(server->wait(), "");
    workers_.clear();
    servers_.clear();
  }
  std::unique_ptr<Engine> make_engine() {
    EngineSetup setup = engine_setup_of(data_, setting_);
    setup.remote_workers = nodes_;
    for (int i = 0; i < (nodes_ ? 1 : 2); ++i) setup.devices.push_back(make_device("cpu:1"));
    return std::make_unique<Engine>(std::move(setup));
  }
  std::unique_ptr<Engine> fresh_engine() {
    auto engine = make_engine();
    engine->models().give(0, start_of(small_network(data_)));
    return engine;
  }
  std::unique_ptr<Engine> resumed_engine(Saved saved) {
    auto engine = make_engine();
    engine->set_steps(saved.steps);
    for (std::size_t i = 0; i < saved.vectors.size(); ++i) {
      engine->models().give(static_cast<int>(i), std::move(saved.vectors[i]));
    }
    engine->models().restore(std::move(saved.kept));
    return engine;
  }
  static void train(Engine& engine, Position& position, int epochs) {
    for (int i = 0; i < epochs; ++i) {
      ASSERT_TRUE(engine.run_epoch(position, [](const StepReport&) { return true; }));
      position = {position.step, position.epoch + 1, 0, 0};
    }
  }
  /// The engine continues as if it had not been saved.
  Saved save(Engine& engine, const Position& position) const {
    Saved saved;
    saved.kept = engine.models().keep();
    saved.position = position;
    saved.steps = engine.steps();
    for (int i = 0; i <= state_vectors(setting_.optimizer); ++i) {
      FloatBuffer vector = engine.models().take(i);
      FloatBuffer copy(vector.size());
      std::copy_n(vector.data(), vector.size(), copy.data());
      saved.vectors.push_back(std::move(copy));
      engine.models().give(i, std::move(vector));
    }
    return saved;
  }
  static std::vector<float> parameters(Engine& engine) {
    const FloatBuffer end = engine.models().take(0);
    return {end.data(), end.data() + end.size()};
  }

  TestNetwork network_{std::get<1>(GetParam())};
  Dataset data_;
  ClusterSetting setting_{"bsp", 2, Optimizer::adam};
  std::shared_ptr<ClusterCoordinator> nodes_;
  std::vector<std::unique_ptr<TestServer>> servers_;
  std::vector<std::unique_ptr<TestWorker>> workers_;
};

TEST_P(WorkerStatesTest, ResumesBitIdentical) {
  for (const char* strategy : {"bsp", "bsp:server-momentum=0.5", "bsp:compress=top-k:top-k=0.05"}) {
    setting_.strategy = strategy;
    begin_cluster();
    auto engine = fresh_engine();
    Position position;
    train(*engine, position, 4);
    const auto whole = parameters(*engine);
    engine.reset();
    end_cluster();

    begin_cluster();
    engine = fresh_engine();
    position = {};
    train(*engine, position, 2);
    Saved saved = save(*engine, position);
    EXPECT_FALSE(saved.kept.empty());
    train(*engine, position, 1);  // training that is discarded
    engine.reset();
    if (servers() >
        0) {  // servers with new shards close connections: workers reconnect in any order
      end_cluster();
      begin_cluster();
    }
    position = saved.position;
    engine = resumed_engine(std::move(saved));  // by the same workers
    Saved again = save(*engine, position);      // before a worker has restored it
    train(*engine, position, 2);
    EXPECT_EQ(parameters(*engine), whole) << strategy << ", workers that were there";
    engine.reset();
    end_cluster();

    begin_cluster();
    position = again.position;
    engine = resumed_engine(std::move(again));
    train(*engine, position, 2);
    EXPECT_EQ(parameters(*engine), whole) << strategy << ", new workers";
    engine.reset();
    end_cluster();
  }
}
std::string case_name(const testing::TestParamInfo<std::tuple<int, TransportKind>>& info) {
  const auto [servers, kind] = info.param;
  const std::string where = servers < 0 ? "OneProcess" : servers == 0 ? "Coordinator" : "Servers";
  return where + to_string(kind);
}
INSTANTIATE_TEST_SUITE_P(Over, WorkerStatesTest,
                         testing::Combine(testing::Values(-1, 0, 2),
                                          testing::ValuesIn(transports_here())),
                         case_name);

TEST(WorkerStateReader, RefusesAMalformedState) {
  const Network network{.features = 11, .hidden = {7}, .labels = 5, .input = Input::sparse};
  const ModelUpdateFormat format(network, {});
  wire::WorkerState head;
  head.set_vectors(9);
  EXPECT_THROW(WorkerStateReader(format).begin(head), Error) << "too many";
  head.set_vectors(1);
  head.mutable_vector()->set_rows(1);
  head.mutable_vector()->set_places(1);
  EXPECT_THROW(WorkerStateReader(format).begin(head), Error) << "not whole";
  head.mutable_vector()->set_rows(0);
  head.mutable_vector()->set_places(0);
  head.mutable_vector()->set_bytes(std::uint64_t{1} << 40);
  EXPECT_THROW(WorkerStateReader(format).begin(head), Error) << "too long";
}

TEST(WorkerStateReader, ForgetsNumbersThatAreNotFinite) {
  const Network network{.features = 11, .hidden = {7}, .labels = 5, .input = Input::sparse};
  const ModelUpdateFormat format(network, {});
  WorkerState state;
  state.emplace_back(layout_of(network).size);
  for (const float last : {1.0F, std::numeric_limits<float>::quiet_NaN()}) {
    state[0][layout_of(network).size - 1] = last;
    WorkerStateReader reader(format);
    bool complete = false;
    for (const Message& message : messages_of(state, format)) {
      const wire::Head head = head_of(message);
      complete = head.has_worker_state() ? reader.begin(head.worker_state())
                                         : reader.feed(head.chunk(), message);
    }
    EXPECT_TRUE(complete);
    EXPECT_EQ(reader.take().size(), std::isfinite(last) ? 1U : 0U);
  }
}

}  // namespace
}  // namespace evener
