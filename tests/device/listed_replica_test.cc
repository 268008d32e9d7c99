// The CPU's replica of a listed output against the reference.
#include "evener/device/cpu/listed_replica.h"

#include <cmath>

#include "tests/device/case.h"
#include "tests/nn/problem.h"
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "evener/core/error.h"
#include "evener/device/cpu/cpu_device.h"
#include "evener/nn/reference.h"

namespace evener {
namespace {

constexpr double kTolerance = 5e-5;

bool near(double actual, double expected) {
  return std::abs(actual - expected) <= kTolerance * (1 + std::abs(expected));
}

Case listed_case(Optimizer optimizer) {
  Case c = drawn_case(Loss::sigmoid, optimizer, Input::sparse);
  c.network.activation = Activation::relu;
  c.network.hidden = {*rc::gen::inRange(1U, 141U).as("units")};
  c.network.output = Output::listed;
  const float share = *rc::gen::element(1.0F, 0.3F).as("share");
  c.data = with_random_candidates(std::move(c.data), c.training.seed, share);
  return c;
}

/// The output weights are random too.
Vectors listed_vectors(const Case& c) {
  Vectors vectors = drawn_vectors(c);
  Random random(c.training.seed, 4);
  const Segment output = layout_of(c.network).layers[1].weight;
  for (std::size_t row = 0; row < output.rows; ++row) {
    for (std::size_t u = 0; u < output.cols; ++u) {
      vectors[0][output.offset + row * output.stride + u] =
          static_cast<float>(0.3 * random.normal());
    }
  }
  return vectors;
}

std::unique_ptr<Replica> replica_with(const Case& c, const Vectors& vectors, int threads) {
  auto replica = cpu::make_listed_replica(c.network, c.training, threads);
  for (std::size_t v = 0; v < vectors.size(); ++v) replica->load(static_cast<int>(v), vectors[v]);
  return replica;
}

std::vector<float> stored(Replica& replica, int vector, std::size_t size) {
  std::vector<float> values(size);
  replica.store(vector, values);
  return values;
}

RC_GTEST_PROP(ListedReplica, StepsLikeTheReference, ()) {
  const auto optimizer = *rc::gen::element(Optimizer::sgd, Optimizer::momentum, Optimizer::adam,
                                           Optimizer::adagrad, Optimizer::accumulate);
  const Case c = listed_case(optimizer);
  Vectors expected = listed_vectors(c);
  const auto replica = replica_with(c, expected, c.threads);
  auto rows = all_rows_of(c);
  Random(c.training.seed, 3).shuffle(std::span(rows));
  const Batch batch{&c.data, std::span(rows).first(std::min(c.batch, rows.size()))};
  const Step step{*rc::gen::inRange<std::uint64_t>(1, 1000).as("step"), 0.05F};
  const double wanted = reference::step(c.network, c.training, batch, step, expected[0],
                                        std::span(expected).subspan(1));
  RC_ASSERT(near(replica->step(batch, step), wanted));
  RC_ASSERT(replica->vectors() == static_cast<int>(expected.size()));
  for (std::size_t v = 0; v < expected.size(); ++v) {
    const auto actual = stored(*replica, static_cast<int>(v), expected[v].size());
    RC_ASSERT(first_difference(c.network, actual, expected[v], kTolerance) == "");
  }
}

RC_GTEST_PROP(ListedReplica, ResultsDoNotDependOnTheNumberOfThreads, ()) {
  const Case c = listed_case(Optimizer::adagrad);
  const Vectors start = listed_vectors(c);
  const auto rows = all_rows_of(c);
  std::vector<std::vector<float>> ends;
  for (const int threads : {1, 2, 3}) {
    const auto replica = replica_with(c, start, threads);
    for (std::uint64_t number = 1; number <= 3; ++number) {
      replica->step({&c.data, rows}, {number, 0.05F});
    }
    ends.push_back(stored(*replica, 0, start[0].size()));
  }
  RC_ASSERT(ends[0] == ends[1]);
  RC_ASSERT(ends[0] == ends[2]);
}

// What strategies with summed gradients rely on.
RC_GTEST_PROP(ListedReplica, AGradientThatIsAppliedGivesTheSameBitsAsAStep, ()) {
  const auto optimizer =
      *rc::gen::element(Optimizer::sgd, Optimizer::momentum, Optimizer::adam, Optimizer::adagrad);
  const Case c = listed_case(optimizer);
  const Vectors start = listed_vectors(c);
  const auto rows = all_rows_of(c);
  const Batch batch{&c.data, rows};
  const Step step{7, 0.05F};
  const auto replica = replica_with(c, start, 2);
  replica->step(batch, step);
  Case gradient_only = c;
  gradient_only.training.optimizer = Optimizer::accumulate;
  gradient_only.training.l2 = gradient_only.training.clip = 0;
  const std::size_t size = start[0].size();
  const auto summed = replica_with(gradient_only, {start[0], std::vector<float>(size)}, 2);
  summed->step(batch, step);
  FloatBuffer gradient(size);
  summed->store(1, gradient.span());
  std::vector<FloatBuffer> vectors;
  for (const auto& vector : start) {
    vectors.emplace_back(size);
    std::copy(vector.begin(), vector.end(), vectors.back().data());
  }
  std::vector<std::uint32_t> changed{bias_row(c.network)};
  std::vector<bool> has(sparse_rows(c.network));
  const auto add = [&](std::uint32_t row) {
    if (!has[row]) changed.push_back(row);
    has[row] = true;
  };
  for (const std::uint32_t row : rows) {
    for (const auto feature : c.data.features.row(row).indices) add(feature);
    for (const auto label : c.data.candidates.row(row).indices) {
      add(first_label_row(c.network) + label);
    }
  }
  apply_gradient(c.network, c.training, step, vectors, gradient.span(), changed);
  for (std::size_t v = 0; v < vectors.size(); ++v) {
    const auto expected = stored(*replica, static_cast<int>(v), size);
    RC_ASSERT(std::equal(expected.begin(), expected.end(), vectors[v].data()));
  }
}

RC_GTEST_PROP(ListedReplica, PredictsLikeTheReference, ()) {
  const Case c = listed_case(Optimizer::sgd);
  const Vectors vectors = listed_vectors(c);
  const auto replica = replica_with(c, vectors, c.threads);
  const auto rows = all_rows_of(c);
  Predictions got;
  got.k = *rc::gen::inRange(1U, std::min(6U, c.network.labels + 1)).as("k");
  replica->predict({&c.data, rows}, got);
  const Predictions wanted = reference::predict(c.network, vectors[0], {&c.data, rows}, got.k);
  RC_ASSERT(got.rows() == wanted.rows());
  RC_ASSERT(got.labels.size() == wanted.labels.size());
  for (std::size_t i = 0; i < got.scores.size(); ++i)
    RC_ASSERT(near(got.scores[i], wanted.scores[i]));
  for (std::size_t i = 0; i < got.losses.size(); ++i)
    RC_ASSERT(near(got.losses[i], wanted.losses[i]));
}

class SmallListed : public testing::Test {
 protected:
  SmallListed()
      : problem_({.features = 9,
                  .hidden = {5},
                  .labels = 12,
                  .loss = Loss::sigmoid,
                  .output = Output::listed},
                 20, 3) {}
  Problem problem_;
};

// Without a share, only the candidates' fixed scores count: an ablation of the network.
TEST_F(SmallListed, WithoutAShareAStepChangesNothing) {
  problem_.data.candidate_share = 0;
  const auto replica = cpu::make_listed_replica(problem_.network, {.optimizer = Optimizer::sgd}, 2);
  replica->load(0, problem_.parameters);
  const double loss = replica->step(problem_.batch(), {1, 0.1F});
  EXPECT_NEAR(loss,
              reference::loss(problem_.network, problem_.parameters, problem_.batch(), {}, {}, {}),
              1e-5);
  EXPECT_EQ(stored(*replica, 0, problem_.parameters.size()), problem_.parameters);
}

TEST_F(SmallListed, RowsWithoutCandidatesAreAnError) {
  problem_.data.candidates = {};
  const auto replica = cpu::make_listed_replica(problem_.network, {.optimizer = Optimizer::sgd}, 1);
  EXPECT_THROW(replica->step(problem_.batch(), {1, 0.1F}), Error);
}

TEST_F(SmallListed, ReplicasOfOneThreadEachWorkInPlace) {
  const Training training{.optimizer = Optimizer::adagrad, .epsilon = 1e-3F};
  std::vector<FloatBuffer> shared;
  for (int v = 0; v < 2; ++v) shared.emplace_back(problem_.parameters.size());
  std::copy(problem_.parameters.begin(), problem_.parameters.end(), shared[0].data());
  const auto device = cpu::make_cpu_device({.threads = 2});
  const auto replicas = device->make_in_place(problem_.network, training, shared);
  ASSERT_EQ(replicas.size(), 2U);
  const auto alone = cpu::make_listed_replica(problem_.network, training, 1);
  alone->load(0, problem_.parameters);
  for (std::uint64_t number = 1; number <= 4; ++number) {  // in turns: as one replica
    replicas[number % 2]->step(problem_.batch(), {number, 0.1F});
    alone->step(problem_.batch(), {number, 0.1F});
  }
  const auto expected = stored(*alone, 0, problem_.parameters.size());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), shared[0].data()));
}

}  // namespace
}  // namespace evener
