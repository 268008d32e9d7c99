// Rules of a step and of prediction; tests/nn/gradient_test.cc has the gradients and
// tests/nn/golden_test.cc whole trainings.
#include "evener/nn/reference.h"

#include <cmath>

#include "tests/nn/problem.h"
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "evener/nn/initialise.h"

namespace evener {
namespace {

constexpr auto kOptimizers = {Optimizer::sgd, Optimizer::momentum, Optimizer::adam,
                              Optimizer::adagrad};
const Network kNetwork{.features = 12, .hidden = {5, 4}, .labels = 6};

double loss_of(const Problem& problem, const Training& training = {}) {
  return reference::loss(problem.network, problem.parameters, problem.batch(), training, {}, {});
}

std::vector<float> gradient_of(const Problem& problem, const Training& training = {}) {
  std::vector<float> gradient(problem.parameters.size());
  reference::loss(problem.network, problem.parameters, problem.batch(), training, {}, gradient);
  return gradient;
}

double length(std::span<const float> values) {
  double squares = 0;
  for (const double v : values) squares += v * v;
  return std::sqrt(squares);
}

TEST(Reference, LossesByHand) {
  // One feature of value 2, weights 0.5 and -1, biases 0.25 and 0: logits 1.25 and -2.
  Network network{.features = 1, .hidden = {}, .labels = 2};
  std::vector<float> parameters(layout_of(network).size);
  parameters[0] = 0.5F;
  parameters[32] = -1;
  parameters[64] = 0.25F;
  const auto data = dataset_of({{{0, 2.0F}}, {{0, 2.0F}}, {{0, 2.0F}}}, 1, {{1}, {0, 1}, {}}, 2);
  const auto loss = [&](Loss kind, std::uint32_t row) {
    network.loss = kind;
    return reference::loss(network, parameters, {&data, {&row, 1}}, {}, {}, {});
  };
  const double normaliser = std::log(std::exp(1.25) + std::exp(-2.0));
  EXPECT_NEAR(loss(Loss::softmax, 0), normaliser + 2, 1e-12);
  EXPECT_NEAR(loss(Loss::softmax, 1), normaliser - (1.25 - 2) / 2, 1e-12);
  EXPECT_EQ(loss(Loss::softmax, 2), 0);
  const double both_absent = std::log(1 + std::exp(1.25)) + std::log(1 + std::exp(-2.0));
  EXPECT_NEAR(loss(Loss::sigmoid, 0), both_absent + 2, 1e-12);
  EXPECT_NEAR(loss(Loss::sigmoid, 2), both_absent, 1e-12);
  EXPECT_NEAR(loss(Loss::squared, 0), (1.25 * 1.25 + 9) / 2, 1e-12);
  EXPECT_NEAR(loss(Loss::squared, 2), (1.25 * 1.25 + 4) / 2, 1e-12);
}

TEST(Reference, RowsWithoutLabelsCountInTheMean) {
  const auto data = dataset_of({{{0, 1.0F}}, {{0, 1.0F}}}, 1, {{0}, {}}, 3);
  const Network network{.features = 1, .hidden = {}, .labels = 3};
  const std::vector<float> parameters(layout_of(network).size);
  const std::vector<std::uint32_t> rows{0, 1};
  EXPECT_NEAR(reference::loss(network, parameters, {&data, rows}, {}, {}, {}), std::log(3.0) / 2,
              1e-12);
}

TEST(Reference, HugeLogitsStayFinite) {
  for (const auto loss : {Loss::softmax, Loss::sigmoid}) {
    const Network network{.features = 1, .hidden = {}, .labels = 2, .loss = loss};
    std::vector<float> parameters(layout_of(network).size);
    parameters[0] = 1e4F;
    parameters[32] = -1e4F;
    const auto data = dataset_of({{{0, 1.0F}}}, 1, {{1}}, 2);
    const std::vector<std::uint32_t> rows{0};
    std::vector<float> gradient(parameters.size());
    const double value = reference::loss(network, parameters, {&data, rows}, {}, {}, gradient);
    EXPECT_DOUBLE_EQ(value, 2e4);
    EXPECT_FLOAT_EQ(gradient[0], 1);
    EXPECT_FLOAT_EQ(gradient[32], -1);
  }
}

TEST(Reference, EmptyBatchHasNoLossAndNoGradient) {
  Problem problem(kNetwork, 4, 1);
  problem.order.clear();
  EXPECT_EQ(loss_of(problem), 0);
  EXPECT_EQ(length(gradient_of(problem)), 0);
}

TEST(Reference, GradientIsTheMeanOfItsRows) {
  Problem problem(kNetwork, 5, 2);
  const auto whole = gradient_of(problem);
  std::vector<double> mean(whole.size());
  for (std::uint32_t row = 0; row < 5; ++row) {
    problem.order = {row};
    const auto part = gradient_of(problem);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += part[i] / 5.0;
  }
  for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(whole[i], mean[i], 1e-6) << i;
}

TEST(Reference, SparseAndDenseInputAreTheSameNetwork) {
  Problem sparse(kNetwork, 6, 3);
  auto network = kNetwork;
  network.input = Input::dense;
  Problem dense(network, 6, 3);
  const Segment by_feature = layout_of(kNetwork).layers[0].weight;
  const Segment by_unit = layout_of(network).layers[0].weight;
  std::copy_n(sparse.parameters.begin() + static_cast<std::ptrdiff_t>(by_feature.size()),
              sparse.parameters.size() - by_feature.size(),
              dense.parameters.begin() + static_cast<std::ptrdiff_t>(by_unit.size()));
  for (std::size_t f = 0; f < by_feature.rows; ++f) {
    for (std::size_t u = 0; u < by_unit.rows; ++u) {
      dense.parameters[u * by_unit.stride + f] = sparse.parameters[f * by_feature.stride + u];
    }
  }
  const Training dropout{.dropout = 0.5F, .input_dropout = 0.5F};
  EXPECT_DOUBLE_EQ(loss_of(sparse, dropout), loss_of(dense, dropout));
  EXPECT_NE(loss_of(sparse), loss_of(sparse, dropout));
}

TEST(Reference, SgdFollowsTheGradient) {
  Problem problem(kNetwork, 6, 4);
  const auto before = problem.parameters;
  const auto gradient = gradient_of(problem);
  const double expected = loss_of(problem);
  const Training training{.optimizer = Optimizer::sgd};
  const double loss =
      reference::step(kNetwork, training, problem.batch(), {.number = 1, .learning_rate = 0.25F},
                      problem.parameters, {});
  EXPECT_DOUBLE_EQ(loss, expected);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(problem.parameters[i], before[i] - 0.25 * gradient[i], 1e-7) << i;
  }
}

TEST(Reference, FeaturesThatDoNotOccurKeepWeightsAndState) {
  for (const auto optimizer : kOptimizers) {
    SCOPED_TRACE(to_string(optimizer));
    Problem problem(kNetwork, 6, 5);
    problem.data = dataset_of({{{1, 1.0F}, {7, 2.0F}}, {{7, 1.0F}}}, 12, {{0}, {1, 2}}, 6);
    problem.order = {0, 1};
    auto state = problem.zero_state(optimizer);
    for (auto& vector : state) std::fill(vector.begin(), vector.end(), 0.5F);
    const auto before = problem.parameters;
    const auto state_before = state;
    // l2 and earlier momentum would move every row that takes part, also with a dropped feature.
    const Training training{.optimizer = optimizer, .l2 = 0.1F, .input_dropout = 0.99F};
    reference::step(kNetwork, training, problem.batch(), {.number = 2}, problem.parameters, state);
    const Segment weight = layout_of(kNetwork).layers[0].weight;
    for (std::size_t f = 0; f < weight.rows; ++f) {
      const bool occurs = f == 1 || f == 7;
      for (std::size_t i = f * weight.stride; i < f * weight.stride + weight.cols; ++i) {
        EXPECT_EQ(problem.parameters[i] != before[i], occurs) << "feature " << f;
        for (std::size_t v = 0; v < state.size(); ++v) {
          EXPECT_EQ(state[v][i] != state_before[v][i], occurs) << "feature " << f;
        }
      }
    }
  }
}

/// How far each row (with its bias, where rows are units) moved; the sparse input's bias last.
std::vector<double> row_moves(const Network& network, std::span<const float> before,
                              std::span<const float> after) {
  std::vector<double> moves;
  const Layout layout = layout_of(network);
  const auto squares = [&](std::size_t begin, std::size_t count) {
    double sum = 0;
    for (std::size_t i = begin; i < begin + count; ++i) {
      sum += std::pow(double{after[i]} - double{before[i]}, 2);
    }
    return sum;
  };
  for (std::size_t l = 0; l < layout.layers.size(); ++l) {
    const auto& [weight, bias] = layout.layers[l];
    const bool by_feature = l == 0 && network.sparse_input();
    for (std::size_t r = 0; r < weight.rows; ++r) {
      const double own = squares(weight.offset + r * weight.stride, weight.cols);
      moves.push_back(std::sqrt(own + (by_feature ? 0 : squares(bias.offset + r, 1))));
    }
    if (by_feature) moves.push_back(std::sqrt(squares(bias.offset, bias.cols)));
  }
  return moves;
}

TEST(Reference, ClippingBoundsEachRow) {
  constexpr float kClip = 0.02F;
  Problem problem(kNetwork, 6, 6);
  const auto moves = [&](float clip) {
    auto parameters = problem.parameters;
    const Training training{.optimizer = Optimizer::sgd, .clip = clip};
    reference::step(kNetwork, training, problem.batch(), {.number = 1, .learning_rate = 1},
                    parameters, {});
    return row_moves(kNetwork, problem.parameters, parameters);
  };
  const auto free = moves(0);
  const auto clipped = moves(kClip);
  int bounded = 0;
  for (std::size_t r = 0; r < free.size(); ++r) {
    EXPECT_NEAR(clipped[r], std::min<double>(free[r], kClip), 1e-6) << "row " << r;
    bounded += free[r] > kClip ? 1 : 0;
  }
  EXPECT_GT(bounded, 3);
  EXPECT_LT(bounded, static_cast<int>(free.size()));
}

TEST(Reference, WeightDecayIsNotClippedAndLeavesBiases) {
  Problem problem(kNetwork, 6, 7);
  const auto after = [&](float l2) {
    auto parameters = problem.parameters;
    const Training training{.optimizer = Optimizer::sgd, .l2 = l2, .clip = 0.01F};
    reference::step(kNetwork, training, problem.batch(), {.number = 1, .learning_rate = 1},
                    parameters, {});
    return parameters;
  };
  const auto without = after(0);
  const auto with = after(0.5F);
  for (const auto& layer : layout_of(kNetwork).layers) {
    for (std::size_t i = 0; i < layer.bias.cols; ++i) {
      EXPECT_EQ(with[layer.bias.offset + i], without[layer.bias.offset + i]);
    }
  }
  const Segment weight = layout_of(kNetwork).layers[1].weight;
  for (std::size_t i = weight.offset; i < weight.offset + weight.size(); ++i) {
    EXPECT_NEAR(without[i] - with[i], 0.5 * problem.parameters[i], 1e-6);
  }
}

RC_GTEST_PROP(ReferenceProperty, PaddingStaysZero, ()) {
  Network network;
  network.features = *rc::gen::inRange(1U, 20U);
  network.hidden = *rc::gen::container<std::vector<std::uint32_t>>(
      *rc::gen::inRange<std::size_t>(0, 3), rc::gen::inRange(1U, 19U));
  network.labels = *rc::gen::inRange(1U, 19U);
  network.input = *rc::gen::element(Input::sparse, Input::dense);
  Training training;
  training.optimizer = *rc::gen::elementOf(std::vector<Optimizer>(kOptimizers));
  training.l2 = 0.1F;
  training.clip = 0.5F;
  Problem problem(network, 4, *rc::gen::arbitrary<std::uint64_t>());
  auto state = problem.zero_state(training.optimizer);
  for (std::uint64_t t = 1; t <= 3; ++t) {
    reference::step(network, training, problem.batch(), {.number = t}, problem.parameters, state);
  }
  const auto used = used_elements(layout_of(network));
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    RC_ASSERT(problem.parameters[i] == 0);
    for (const auto& vector : state) RC_ASSERT(vector[i] == 0);
  }
}

TEST(Reference, EveryOptimizerLearns) {
  for (const auto optimizer : kOptimizers) {
    SCOPED_TRACE(to_string(optimizer));
    Problem problem({.features = 12, .hidden = {16}, .labels = 5, .loss = Loss::sigmoid}, 8, 8);
    initialise(problem.network, 1, problem.parameters);
    const Training training{.optimizer = optimizer};
    auto state = problem.zero_state(optimizer);
    const double first = loss_of(problem);
    for (std::uint64_t t = 1; t <= 100; ++t) {
      reference::step(problem.network, training, problem.batch(),
                      {.number = t, .learning_rate = 0.05F}, problem.parameters, state);
    }
    EXPECT_LT(loss_of(problem), 0.7 * first);
  }
}

TEST(Reference, PredictionRanksLabelsAndBreaksTiesByTheLower) {
  // Without features the logits are the biases.
  const Network network{.features = 1, .hidden = {}, .labels = 5, .loss = Loss::squared};
  std::vector<float> parameters(layout_of(network).size);
  const auto bias = layout_of(network).layers[0].bias.offset;
  const std::vector<float> logits{0.5F, 2.0F, -1.0F, 2.0F, 0.5F};
  std::copy(logits.begin(), logits.end(), parameters.begin() + static_cast<std::ptrdiff_t>(bias));
  const auto data = dataset_of({{}, {}}, 1, {{1}, {}}, 5);
  const std::vector<std::uint32_t> rows{1, 0};
  const auto four = reference::predict(network, parameters, {&data, rows}, 4);
  EXPECT_EQ(four.k, 4U);
  EXPECT_EQ(four.labels, (std::vector<std::uint32_t>{1, 3, 0, 4, 1, 3, 0, 4}));
  EXPECT_EQ(four.row_scores(0)[2], 0.5F);
  EXPECT_FLOAT_EQ(four.losses[0], (0.25F + 4 + 1 + 4 + 0.25F) / 2);
  EXPECT_FLOAT_EQ(four.losses[1], (0.25F + 1 + 1 + 4 + 0.25F) / 2);
  EXPECT_EQ(reference::predict(network, parameters, {&data, rows}, 9).k, 5U);
}

TEST(Reference, ScoresAreProbabilities) {
  for (const auto loss : {Loss::softmax, Loss::sigmoid}) {
    auto network = kNetwork;
    network.loss = loss;
    const Problem problem(network, 5, 9);
    const auto all =
        reference::predict(network, problem.parameters, problem.batch(), network.labels);
    double mean = 0;
    for (std::size_t row = 0; row < all.rows(); ++row) {
      const auto scores = all.row_scores(row);
      EXPECT_TRUE(std::is_sorted(scores.rbegin(), scores.rend()));
      EXPECT_GT(scores.back(), 0);
      EXPECT_LT(scores.front(), 1);
      const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
      if (loss == Loss::softmax) {
        EXPECT_NEAR(sum, 1, 1e-6);
      }
      mean += all.losses[row] / static_cast<double>(all.rows());
    }
    EXPECT_NEAR(mean, loss_of(problem), 1e-6);
  }
}

}  // namespace
}  // namespace evener
