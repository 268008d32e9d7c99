// Every strategy between devices inside a node, combined with every strategy between nodes.
#include <atomic>
#include <cmath>
#include <numeric>

#include "tests/runtime/fakes.h"
#include <gtest/gtest.h>

#include "evener/nn/initialise.h"
#include "evener/runtime/engine_replica.h"

namespace evener {
namespace {

constexpr std::size_t kEpochRows = 192, kBatch = 32;
constexpr std::size_t kNodes = 2;

/// Counts the rows that it trains.
class CountingReplica final : public Replica {
 public:
  CountingReplica(std::unique_ptr<Replica> inside, std::atomic<std::size_t>& rows)
      : inside_(std::move(inside)), rows_(rows) {}
  double step(const Batch& batch, const Step& step, const NextStep* next) override {
    rows_ += batch.rows.size();
    return inside_->step(batch, step, next);
  }
  void predict(const Batch& batch, Predictions& out) override { inside_->predict(batch, out); }
  int vectors() const override { return inside_->vectors(); }
  FloatBuffer take(int vector) override { return inside_->take(vector); }
  void give(int vector, FloatBuffer values) override { inside_->give(vector, std::move(values)); }

 private:
  std::unique_ptr<Replica> inside_;
  std::atomic<std::size_t>& rows_;
};

class CountingDevice final : public Device {
 public:
  explicit CountingDevice(std::atomic<std::size_t>& rows) : rows_(rows) {}
  std::string name() const override { return cpu_->name(); }
  std::unique_ptr<Replica> make_replica(const Network& network, const Training& training) override {
    return std::make_unique<CountingReplica>(cpu_->make_replica(network, training), rows_);
  }
  std::vector<std::unique_ptr<Replica>> make_in_place(const Network& network,
                                                      const Training& training,
                                                      std::span<FloatBuffer> shared) override {
    std::vector<std::unique_ptr<Replica>> counting;
    for (auto& replica : cpu_->make_in_place(network, training, shared)) {
      counting.push_back(std::make_unique<CountingReplica>(std::move(replica), rows_));
    }
    return counting;
  }
  int in_place_threads() const override { return cpu_->in_place_threads(); }

 private:
  std::unique_ptr<Device> cpu_ = make_device("cpu:1");
  std::atomic<std::size_t>& rows_;
};

/// A machine with several devices as one device, as in a worker of a cluster or a gossip peer.
class Node final : public Device {
 public:
  Node(const Dataset& data, std::string strategy)
      : data_(data), strategy_(std::move(strategy)), rows_(strategy_ == "sequential" ? 1 : 2) {}
  std::string name() const override { return "node"; }
  std::unique_ptr<Replica> make_replica(const Network& network, const Training& training) override {
    EngineSetup setup;
    setup.network = network;
    setup.training = training;
    setup.plan.data = &data_;
    setup.strategy = parse_strategy(strategy_);
    setup.batch = kBatch / kNodes;
    for (auto& rows : rows_) setup.devices.push_back(std::make_shared<CountingDevice>(rows));
    return make_engine_replica(std::move(setup));
  }
  /// Rows that each device has trained.
  const std::vector<std::atomic<std::size_t>>& rows() const { return rows_; }

 private:
  const Dataset& data_;
  std::string strategy_;
  std::vector<std::atomic<std::size_t>> rows_;
};

class Composition : public testing::Test {
 protected:
  Composition() {
    network_.features = data_.feature_count;
    network_.labels = data_.label_count;
    network_.hidden = {8};
    training_.optimizer = Optimizer::sgd;
  }
  EngineSetup setup(const std::string& between) const {
    EngineSetup setup;
    setup.network = network_;
    setup.training = training_;
    setup.plan.data = &data_;
    setup.plan.schedule.learning_rate = 0.3F;
    setup.strategy = parse_strategy(between);
    setup.batch = kBatch;
    return setup;
  }
  double loss_of(const FloatBuffer& model) const {
    const auto replica = make_device("cpu:1")->make_replica(network_, training_);
    replica->load(0, model.span());
    std::vector<std::uint32_t> rows(data_.rows());
    std::iota(rows.begin(), rows.end(), 0U);
    return replica->step({&data_, rows}, {1, 0.0F});
  }

  Dataset data_ = small_data(kEpochRows);
  Network network_;
  Training training_;
};

TEST_F(Composition, EveryAllowedPairTrainsAnEpoch) {
  std::size_t pairs = 0;
  for (const auto& inside : strategies()) {
    for (const auto& between : strategies()) {
      if (!composes(inside, between)) continue;
      ++pairs;
      SCOPED_TRACE(inside.name + " inside " + between.name);
      EngineSetup both = setup(between.name);
      std::vector<std::shared_ptr<Node>> nodes;
      for (std::size_t i = 0; i < kNodes; ++i) {
        nodes.push_back(std::make_shared<Node>(data_, inside.name));
        both.devices.push_back(nodes.back());
      }
      Engine engine(std::move(both));
      FloatBuffer start(layout_of(network_).size);
      initialise(network_, 5, start.span());
      const double before = loss_of(start);
      engine.models().give(0, std::move(start));
      Position position;
      EXPECT_TRUE(engine.run_epoch(position, go_on));
      EXPECT_LT(loss_of(engine.models().take(0)), before);
      std::size_t trained = 0;
      std::uint64_t rejected = 0;
      for (const auto& worker : engine.timeline().totals()) rejected += worker.rejected;
      for (const auto& node : nodes) {
        for (const auto& rows : node->rows()) {
          trained += rows;
          EXPECT_GT(rows, 0U) << "all devices of a node take part";
        }
      }
      const bool again = between.sharing == Sharing::pushes && rejected > 0;
      EXPECT_TRUE(again ? trained > kEpochRows : trained == kEpochRows) << trained;
    }
  }
  EXPECT_EQ(pairs, names_of(false).size() * names_of(true).size());
}

TEST_F(Composition, ANodeWithOneDeviceEqualsThatDeviceUpToRounding) {
  for (const char* between : {"bsp", "gossip"}) {
    std::vector<std::vector<float>> models;
    for (const bool composed : {false, true}) {
      EngineSetup both = setup(between);
      // One node: the result does not depend on timing.
      if (composed) {
        both.devices.push_back(std::make_shared<Node>(data_, "sequential"));
      } else {
        both.devices.push_back(make_device("cpu:1"));
      }
      both.batch = kBatch / kNodes;
      Engine engine(std::move(both));
      FloatBuffer start(layout_of(network_).size);
      initialise(network_, 5, start.span());
      engine.models().give(0, std::move(start));
      Position position;
      engine.run_epoch(position, go_on);
      const FloatBuffer end = engine.models().take(0);
      models.emplace_back(end.data(), end.data() + end.size());
    }
    // The rows of a batch are in another order.
    for (std::size_t i = 0; i < models[0].size(); ++i) {
      ASSERT_NEAR(models[0][i], models[1][i], 1e-5) << between << " " << i;
    }
  }
}

TEST_F(Composition, PairsThatAreNotAllowedAreRefused) {
  for (const auto& inside : strategies()) {
    Node node(data_, inside.name);
    if (is_for_nodes(inside)) {
      EXPECT_THROW(node.make_replica(network_, training_), UsageError) << inside.name;
    } else {
      EXPECT_NO_THROW(node.make_replica(network_, training_)) << inside.name;
    }
  }
  EngineSetup two = setup("sequential");
  for (int i = 0; i < 2; ++i) two.devices.push_back(make_device("cpu:1"));
  EXPECT_THROW(make_engine_replica(std::move(two)), UsageError) << "it is of one device";
}

}  // namespace
}  // namespace evener
