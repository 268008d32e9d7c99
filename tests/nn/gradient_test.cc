// Compares every gradient of the reference with finite differences of its loss.
#include <cmath>

#include "tests/nn/problem.h"
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "evener/nn/reference.h"

namespace evener {
namespace {

// The loss is computed in double precision and only the parameters are floats. So the step may be
// small, if the difference of the two floats that were really used is taken.
constexpr float kStep = 0x1p-16F;
constexpr double kTolerance = 2e-6;

/// Slopes of the loss to the left and to the right of parameter `i`.
std::pair<double, double> slopes(const Problem& problem, const Training& training, const Step& step,
                                 std::size_t i, double here) {
  auto moved = problem.parameters;
  const auto slope = [&](float to) {
    moved[i] = to;
    const double there =
        reference::loss(problem.network, moved, problem.batch(), training, step, {});
    return (there - here) / (double{to} - double{problem.parameters[i]});
  };
  const float at = problem.parameters[i];
  return {slope(at - kStep), slope(at + kStep)};
}

/// The first parameter whose gradient is wrong, or an empty text. Both slopes are computed because
/// relu has a kink, where any value between the two is correct.
std::string first_wrong(const Problem& problem, const Training& training) {
  const Step step{.number = 3, .learning_rate = 0.1F};
  std::vector<float> gradient(problem.parameters.size(), 7.0F);
  const double here = reference::loss(problem.network, problem.parameters, problem.batch(),
                                      training, step, gradient);
  const auto used = used_elements(layout_of(problem.network));
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (!used[i]) {
      if (gradient[i] != 0) return "padding at " + std::to_string(i);
      continue;
    }
    const auto [left, right] = slopes(problem, training, step, i, here);
    const bool smooth = problem.network.activation != Activation::relu;
    const double middle = (left + right) / 2;
    const double low = smooth ? middle : std::min(left, right);
    const double high = smooth ? middle : std::max(left, right);
    // A one-sided slope is less exact than the mean of both: next to a kink, by a hundredth of it.
    const double kink = smooth ? 0 : 0.01 * std::abs(right - left);
    const double tolerance = kTolerance * (1 + std::abs(middle)) + kink;
    if (gradient[i] < low - tolerance || gradient[i] > high + tolerance) {
      return "parameter " + std::to_string(i) + ": gradient " + std::to_string(gradient[i]) +
             ", slopes " + std::to_string(left) + " and " + std::to_string(right);
    }
  }
  return {};
}

class Gradient : public testing::TestWithParam<std::tuple<Loss, Activation, Input, int>> {
 protected:
  static Network network() {
    static const std::vector<std::uint32_t> kHidden{5, 4, 3};
    const auto [loss, activation, input, depth] = GetParam();
    return {.features = 6,
            .hidden = {kHidden.begin(), kHidden.begin() + depth},
            .labels = 4,
            .activation = activation,
            .loss = loss,
            .input = input};
  }
};

TEST_P(Gradient, IsTheSlopeOfTheLoss) {
  EXPECT_EQ(first_wrong(Problem(network(), 9, 1), {}), "");
}

TEST_P(Gradient, IsTheSlopeOfTheLossUnderDropout) {
  const Training training{.dropout = 0.4F, .input_dropout = 0.3F, .seed = 8};
  EXPECT_EQ(first_wrong(Problem(network(), 9, 2), training), "");
}

INSTANTIATE_TEST_SUITE_P(
    All, Gradient,
    testing::Combine(testing::Values(Loss::softmax, Loss::sigmoid, Loss::squared),
                     testing::Values(Activation::relu, Activation::sigmoid, Activation::tanh),
                     testing::Values(Input::sparse, Input::dense), testing::Values(0, 1, 2, 3)),
    [](const auto& instance) {
      return to_string(std::get<0>(instance.param)) + "_" + to_string(std::get<1>(instance.param)) +
             "_" + to_string(std::get<2>(instance.param)) + "_" +
             std::to_string(std::get<3>(instance.param));
    });

TEST(ListedGradient, IsTheSlopeOfTheLoss) {
  const Network network{
      .features = 9, .hidden = {5}, .labels = 12, .loss = Loss::sigmoid, .output = Output::listed};
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_EQ(first_wrong(Problem(network, 7, seed), {}), "");
    const Training dropout{.dropout = 0.4F, .input_dropout = 0.3F, .seed = 8};
    EXPECT_EQ(first_wrong(Problem(network, 7, seed), dropout), "");
  }
}

RC_GTEST_PROP(GradientProperty, HoldsForRandomShapes, ()) {
  Network network;
  network.features = *rc::gen::inRange(1U, 20U);
  network.hidden = *rc::gen::container<std::vector<std::uint32_t>>(
      *rc::gen::inRange<std::size_t>(0, 4), rc::gen::inRange(1U, 19U));
  network.labels = *rc::gen::inRange(1U, 19U);
  network.activation = *rc::gen::element(Activation::relu, Activation::sigmoid, Activation::tanh);
  network.loss = *rc::gen::element(Loss::softmax, Loss::sigmoid, Loss::squared);
  network.input = *rc::gen::element(Input::sparse, Input::dense);
  Training training;
  training.dropout = *rc::gen::element(0.0F, 0.5F);
  training.input_dropout = *rc::gen::element(0.0F, 0.2F);
  const auto rows = *rc::gen::inRange<std::size_t>(1, 6);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  RC_ASSERT(first_wrong(Problem(network, rows, seed), training) == "");
}

}  // namespace
}  // namespace evener
