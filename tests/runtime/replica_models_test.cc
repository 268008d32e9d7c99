// Merges of replicas, which look only at changed rows, compared with the formula over every row.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/device/has_device.h"
#include "tests/runtime/fakes.h"
#include <gtest/gtest.h>

#include "evener/nn/initialise.h"
#include "evener/runtime/model_kinds.h"
#include "evener/runtime/replica_distance.h"

namespace evener {
namespace {

constexpr std::size_t kWorkers = 2, kStepRows = 4;

class ReplicaModelsTest : public testing::TestWithParam<std::string> {
 protected:
  ReplicaModelsTest() {
    // Many features in few rows: most features do not occur between two merges.
    network_.features = data_.feature_count;
    network_.labels = data_.label_count;
    network_.hidden = {8};
    size_ = layout_of(network_).size;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      devices_.push_back(
          make_test_device(GetParam() == "parts" ? "opencl:0.0." + std::to_string(i) : GetParam()));
    }
    use(Optimizer::sgd);
  }

  /// New models and references.
  void use(Optimizer optimizer) {
    training_.optimizer = optimizer;
    ModelSetup setup{network_, training_, &data_, {}};
    replicas_.clear();
    for (std::size_t i = 0; i < kWorkers; ++i) {
      setup.devices.push_back(devices_[i].get());
      replicas_.push_back(devices_[i]->make_replica(network_, training_of_worker(training_, i)));
    }
    models_ = make_replica_models(setup);
    FloatBuffer start(size_);
    initialise(network_, 5, start.span());
    global_.assign(start.data(), start.data() + size_);
    previous_ = global_;
    for (auto& replica : replicas_) replica->load(0, start.span());
    models_->give(0, std::move(start));
    models_->resume();
  }

  /// One step of every worker on new rows, in the models and in the reference.
  void step() {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      std::vector<std::uint32_t> rows(kStepRows);
      std::iota(rows.begin(), rows.end(), next_row_);
      next_row_ += kStepRows;
      Step at;
      at.number = ++steps_;
      at.learning_rate = 0.3F;
      Task task;
      task.worker = static_cast<int>(i);
      task.parts.push_back({{rows, kStepRows}, at});
      models_->compute(task);
      replicas_[i]->step({&data_, rows}, at);
    }
  }

  void merge(const Merge& decision) {
    models_->merge(decision);
    std::vector<FloatBuffer> views = take();
    for (std::size_t j = 0; j < size_; ++j) {
      double sum = decision.momentum * (global_[j] - previous_[j]);
      for (std::size_t i = 0; i < kWorkers; ++i) sum += decision.weights[i] * views[i][j];
      previous_[j] = global_[j];
      global_[j] = static_cast<float>(sum);
      for (auto& view : views) view[j] = global_[j];
    }
    give(std::move(views));
    if (decision.moments) average_moments(decision);
  }
  void average_moments(const Merge& decision) {
    const int vector = second_moments(training_.optimizer);
    std::vector<FloatBuffer> views = take(vector);
    for (std::size_t j = 0; j < size_; ++j) {
      double sum = 0, total = 0;
      for (std::size_t i = 0; i < kWorkers; ++i) {
        sum += decision.weights[i] * views[i][j];
        total += decision.weights[i];
      }
      for (auto& view : views) view[j] = static_cast<float>(sum / total);
    }
    give(std::move(views), vector);
  }

  void elastic_average(const ElasticAverage& decision) {
    models_->elastic_average(decision);
    std::vector<FloatBuffer> views = take();
    for (std::size_t j = 0; j < size_; ++j) {
      const double z = global_[j];
      double sum = decision.momentum * (z - previous_[j]);
      for (auto& view : views) {
        const double move = decision.pull * (view[j] - z);
        view[j] = static_cast<float>(view[j] - move);
        sum += move;
      }
      previous_[j] = global_[j];
      global_[j] = static_cast<float>(z + sum);
    }
    give(std::move(views));
  }

  void expect_same() {
    const FloatBuffer actual = models_->take(0);
    for (std::size_t j = 0; j < size_; ++j) ASSERT_NEAR(actual[j], global_[j], 1e-5) << j;
  }

  std::vector<FloatBuffer> take(int vector = 0) {
    std::vector<FloatBuffer> views;
    for (auto& replica : replicas_) views.push_back(replica->take(vector));
    return views;
  }
  void give(std::vector<FloatBuffer> views, int vector = 0) {
    for (std::size_t i = 0; i < kWorkers; ++i) replicas_[i]->give(vector, std::move(views[i]));
  }

  Dataset data_ = small_data(200, 400);
  Network network_;
  Training training_;
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<ReplicaSharing> models_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<float> global_, previous_;
  std::uint32_t next_row_ = 0;
  std::uint64_t steps_ = 0;
};

TEST_P(ReplicaModelsTest, MergesWithoutMomentum) {
  for (int i = 0; i < 10; ++i) {
    step();
    merge({{0.25, 0.75}, 0});
  }
  expect_same();
  EXPECT_TRUE(models_->take_failures().empty());
  // The note appears once: after it the host merges.
  EXPECT_EQ(models_->take_notes().size(), GetParam() == "failing-merge" ? 1U : 0U);
}

TEST_P(ReplicaModelsTest, MomentumContinuesInRowsThatNoReplicaChangesAnyMore) {
  for (int i = 0; i < 10; ++i) {
    step();
    merge({{0.25, 0.75}, 0.9});
  }
  expect_same();
}

TEST_P(ReplicaModelsTest, WeightsThatDoNotAddUpToOneMoveEveryRowFromThenOn) {
  for (int i = 0; i < 10; ++i) {
    step();
    merge({{i == 3 ? 0.3 : 0.25, 0.75}, 0.5});
  }
  expect_same();
}

// Also with weights that do not add up to one: a mean of squares has to stay one.
TEST_P(ReplicaModelsTest, MergesSecondMomentsWithTheParameters) {
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::adagrad}) {
    use(optimizer);
    const int vector = second_moments(optimizer);
    EXPECT_EQ(models_->merged_vectors({{0.25, 0.75}, 0, true}), 2U);
    EXPECT_EQ(models_->merged_vectors({{0.25, 0.75}, 0, false}), 1U);
    for (int i = 0; i < 5; ++i) {
      step();
      merge({{i == 3 ? 0.3 : 0.25, 0.75}, 0, true});
    }
    expect_same();
    const FloatBuffer moments = models_->take(vector);
    const FloatBuffer expected = replicas_[1]->take(vector);
    for (std::size_t j = 0; j < size_; ++j) {
      ASSERT_NEAR(moments[j], expected[j], 1e-3 * std::abs(expected[j])) << j;
    }
  }
  use(Optimizer::sgd);
  EXPECT_EQ(models_->merged_vectors({{0.25, 0.75}, 0, true}), 1U);
}

// As after a resume: the first merge must know the moments of rows that only one replica changes.
TEST_P(ReplicaModelsTest, MergesSecondMomentsThatItWasGiven) {
  use(Optimizer::adagrad);
  FloatBuffer given(size_);
  std::fill_n(given.data(), size_, 2.0F);
  for (auto& replica : replicas_) replica->load(1, given.span());
  models_->give(1, std::move(given));
  step();
  merge({{0.25, 0.75}, 0, true});
  expect_same();
  const FloatBuffer moments = models_->take(1);
  const FloatBuffer expected = replicas_[1]->take(1);
  for (std::size_t j = 0; j < size_; ++j) {
    ASSERT_NEAR(moments[j], expected[j], 1e-3 * std::abs(expected[j])) << j;
  }
}

TEST_P(ReplicaModelsTest, ElasticAveragingWithMomentum) {
  for (int i = 0; i < 10; ++i) {
    step();
    elastic_average({0.5, 0.9});
  }
  expect_same();
}

TEST_P(ReplicaModelsTest, MeasuresTheDistanceOfTheReplicas) {
  EXPECT_EQ(models_->distance(), 0.0);
  for (int i = 0; i < 3; ++i) {
    step();
    std::vector<FloatBuffer> views = take();
    const double expected = replica_distance(views);
    give(std::move(views));
    EXPECT_GT(expected, 0);
    EXPECT_NEAR(models_->distance(), expected, 1e-4 * expected);
    if (i < 2) continue;
    merge({{0.5, 0.5}, 0});
    EXPECT_EQ(models_->distance(), 0.0);
    expect_same();
  }
}

// A checkpoint must not store the optimizer state of a worker that was demoted long ago.
TEST_P(ReplicaModelsTest, TheOptimizerStateIsThatOfTheWorkerWithTheLargestWeight) {
  ModelSetup setup{network_, training_, &data_, {}};
  setup.training.optimizer = Optimizer::momentum;
  for (const auto& device : devices_) setup.devices.push_back(device.get());
  const auto models = make_replica_models(setup);
  FloatBuffer start(size_);
  initialise(network_, 5, start.span());
  models->give(0, std::move(start));
  models->give(1, FloatBuffer(size_));
  models->resume();
  const std::vector<std::uint32_t> rows{1, 2, 3};
  Task task;
  task.worker = 1;
  task.parts.push_back({{rows, 3}, Step{}});
  models->compute(task);
  models->merge({{0, 1}, 0});
  const FloatBuffer state = models->take(1);
  EXPECT_TRUE(std::any_of(state.data(), state.data() + size_, [](float v) { return v != 0; }));
}

// Parts of one OpenCL device share its memory and merge there.
std::vector<std::string> kinds_here() {
  std::vector<std::string> kinds{"cpu:1", "remote", "failing-merge"};
  const auto devices = listed_devices("opencl");
  if (!devices.empty() && devices[0].parts.size() > 1) kinds.emplace_back("parts");
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Devices, ReplicaModelsTest, testing::ValuesIn(kinds_here()),
                         [](const auto& device) { return device.param.substr(0, 3); });

}  // namespace
}  // namespace evener
