// Pulls, pushes and updates of a parameter server, which look only at changed rows, compared with
// the formula over every parameter.
#include <cmath>
#include <deque>
#include <numeric>

#include "tests/runtime/fakes.h"
#include "tests/runtime/small_setup.h"
#include <gtest/gtest.h>

#include "evener/nn/initialise.h"
#include "evener/runtime/model_kinds.h"

namespace evener {
namespace {

constexpr int kPushWorkers = 3;
constexpr std::size_t kPushRows = 4;

class ServerModelTest : public testing::TestWithParam<std::string> {
 protected:
  ServerModelTest() {
    // Many features in few rows: most features do not occur in most pushes.
    network_.features = data_.feature_count;
    network_.labels = data_.label_count;
    network_.hidden = {8};
    training_.optimizer = Optimizer::sgd;
    ModelSetup setup{network_, training_, &data_, {}};
    for (int i = 0; i < kPushWorkers; ++i) {
      devices_.push_back(make_test_device(GetParam()));
      setup.devices.push_back(devices_.back().get());
      replicas_.push_back(devices_.back()->make_replica(
          network_, training_of_worker(training_, static_cast<std::size_t>(i))));
    }
    models_ = make_server_model(setup);
    const std::size_t size = layout_of(network_).size;
    FloatBuffer start(size);
    initialise(network_, 5, start.span());
    global_.assign(start.data(), start.data() + size);
    momentum_.assign(size, 0);
    pushes_.assign(kPushWorkers, std::vector<float>(size));
    models_->give(0, std::move(start));
    models_->resume();
  }

  /// In the model and in the reference: `worker` pulls, trains on new rows, and pushes.
  void pull_and_push(int worker, int steps = 1) {
    const auto index = static_cast<std::size_t>(worker);
    Task task;
    task.worker = worker;
    task.work = Work::pushed;
    for (int i = 0; i < steps; ++i) {
      rows_.emplace_back(kPushRows);
      std::iota(rows_.back().begin(), rows_.back().end(), next_row_);
      next_row_ += kPushRows;
      Step at;
      at.number = ++steps_;
      at.learning_rate = 0.3F;
      task.parts.push_back({{rows_.back(), kPushRows}, at});
    }
    models_->begin(task);
    const double loss = models_->compute(task);
    models_->end(task);

    Replica& replica = *replicas_[index];
    replica.load(0, global_);
    double expected = 0;
    for (const auto& part : task.parts) {
      expected += replica.step({&data_, part.slice.rows}, part.step) * kPushRows;
    }
    EXPECT_NEAR(loss, expected, 1e-4);
    replica.store(0, pushes_[index]);
    for (std::size_t j = 0; j < global_.size(); ++j) pushes_[index][j] -= global_[j];
  }

  void apply_pushes(const ApplyPushes& decision) {
    models_->apply_pushes(decision);
    const double mu = decision.momentum;
    const double part = (1 - std::pow(mu, decision.share)) / (1 - mu);
    for (std::size_t j = 0; j < global_.size(); ++j) {
      double mean = 0;
      for (const int worker : decision.workers) {
        mean += pushes_[static_cast<std::size_t>(worker)][j];
      }
      mean /= static_cast<double>(decision.workers.size());
      const double kept = mu > 0 ? std::pow(mu, decision.share) * momentum_[j] : 0;
      momentum_[j] = static_cast<float>(kept + decision.damping * part * mean);
      global_[j] += static_cast<float>(decision.share * momentum_[j]);
    }
  }

  void expect_same() {
    const FloatBuffer actual = models_->take(0);
    for (std::size_t j = 0; j < global_.size(); ++j) ASSERT_NEAR(actual[j], global_[j], 2e-5) << j;
  }

  Dataset data_ = small_data(200, 400);
  Network network_;
  Training training_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<PushSharing> models_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<float> global_, momentum_;
  std::vector<std::vector<float>> pushes_;
  std::deque<std::vector<std::uint32_t>> rows_;  // tasks refer to them
  std::uint32_t next_row_ = 0;
  std::uint64_t steps_ = 0;
};

TEST_P(ServerModelTest, AppliesTheMeanOfAllPushes) {
  for (int round = 0; round < 5; ++round) {
    for (int worker = 0; worker < kPushWorkers; ++worker) pull_and_push(worker);
    apply_pushes({{0, 1, 2}, 1, 1, 0});
  }
  expect_same();
}

TEST_P(ServerModelTest, LatePushesAndPullsOfRowsThatChangedMeanwhile) {
  pull_and_push(0);
  pull_and_push(1, 3);
  pull_and_push(2);
  apply_pushes({{2}, 1.0 / 3, 1, 0});
  pull_and_push(2);
  apply_pushes({{0}, 1.0 / 3, 1, 0});
  apply_pushes({{2}, 1.0 / 3, 1, 0});
  pull_and_push(0, 2);
  apply_pushes({{1}, 1.0 / 3, 0.4, 0});
  apply_pushes({{0}, 1.0 / 3, 1, 0});
  pull_and_push(1);
  apply_pushes({{1}, 1, 1, 0});
  expect_same();
}

TEST_P(ServerModelTest, MomentumOfPushesThatAreAShareOfAStep) {
  for (int round = 0; round < 4; ++round) {
    for (int worker = 0; worker < kPushWorkers; ++worker) {
      pull_and_push(worker);
      apply_pushes({{worker}, 1.0 / 3, 1, 0.9});
    }
    for (int worker = 0; worker < kPushWorkers; ++worker) pull_and_push(worker);
    apply_pushes({{0, 2}, 2.0 / 3, 0.5, 0.9});
    models_->reject(1);
  }
  expect_same();
}

TEST_P(ServerModelTest, ARejectedPushChangesNothingAndItsRowsArePulledAgain) {
  pull_and_push(0);
  models_->reject(0);
  pull_and_push(0);
  apply_pushes({{0}, 1, 1, 0});
  pull_and_push(1);
  models_->reject(1);
  pull_and_push(0);
  apply_pushes({{0}, 1, 1, 0});
  expect_same();
}

TEST_P(ServerModelTest, OnlyChangedRowsAreTransferred) {
  const auto task_of = [&](int worker, const std::vector<std::uint32_t>& rows) {
    Task task;
    task.worker = worker;
    task.work = Work::pushed;
    task.parts.push_back({{rows, rows.size()}, Step{}});
    return task;
  };
  const std::vector<std::uint32_t> rows{1, 2};
  const Task task = task_of(0, rows);
  models_->begin(task);
  const Models::Traffic first = models_->traffic(task);
  EXPECT_GT(first.in, 8 * first.out);  // the whole model in, a few rows out
  models_->compute(task);
  models_->end(task);
  models_->apply_pushes({{0}, 1, 1, 0});
  models_->begin(task);
  EXPECT_EQ(models_->traffic(task).in, first.out);  // only its own rows changed
  EXPECT_EQ(models_->traffic(task).out, first.out);
}

// What a compressed push leaves out is in a later push, also where pushes between them are
// rejected: in the end the model has moved by the sum of all pushes.
TEST(CompressedPushes, LoseNothing) {
  const Dataset data = small_data(200, 400);
  const Network network = small_network(data);
  Training training;
  training.optimizer = Optimizer::sgd;
  const auto device = make_test_device("cpu:1");
  const ModelSetup setup{network, training, &data, {device.get()}};
  const std::size_t size = layout_of(network).size;
  const std::vector<std::uint32_t> rows{3, 4};
  const auto run = [&](const Compression& compression) {
    const auto models = make_server_model(setup, compression);
    models->give(0, start_of(network));
    for (std::uint64_t i = 0; i < 40; ++i) {
      // Only the first step changes anything: the others, with rate 0, send the rest of it.
      Task task;
      task.work = Work::pushed;
      task.parts.push_back({{rows, 2}, Step{i + 1, i == 0 ? 0.3F : 0.0F}});
      models->begin(task);
      models->compute(task);
      models->end(task);
      if (i % 3 == 1) {
        models->reject(0);
      } else {
        models->apply_pushes({{0}, 1, 1, 0});
      }
    }
    const FloatBuffer end = models->take(0);
    return std::vector<float>(end.data(), end.data() + size);
  };
  const std::vector<float> plain = run({});
  for (const Compression& compression :
       {Compression{Compression::Kind::fp16}, Compression{Compression::Kind::top_k, 0.1}}) {
    const std::vector<float> end = run(compression);
    for (std::size_t j = 0; j < size; ++j) ASSERT_NEAR(end[j], plain[j], 1e-6) << j;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ServerModelTest, testing::Values("cpu:1", "remote"),
                         [](const auto& kind) {
                           return kind.param.substr(0, kind.param.find(':'));
                         });

}  // namespace
}  // namespace evener
