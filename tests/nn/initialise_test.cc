#include "evener/nn/initialise.h"

#include <algorithm>
#include <cmath>

#include "tests/nn/problem.h"
#include <gtest/gtest.h>

namespace evener {
namespace {

const Network kStartNetwork{.features = 90, .hidden = {70, 33}, .labels = 101};

std::vector<float> start(const Network& network, std::uint64_t seed) {
  std::vector<float> parameters(layout_of(network).size, 5.0F);
  initialise(network, seed, parameters);
  return parameters;
}

TEST(Initialise, DependsOnTheSeedAlone) {
  EXPECT_EQ(start(kStartNetwork, 1), start(kStartNetwork, 1));
  EXPECT_NE(start(kStartNetwork, 1), start(kStartNetwork, 2));
}

TEST(Initialise, PaddingAndBiasesAreZero) {
  const auto layout = layout_of(kStartNetwork);
  const auto parameters = start(kStartNetwork, 3);
  const auto used = used_elements(layout);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!used[i]) {
      ASSERT_EQ(parameters[i], 0) << i;
    }
  }
  for (const auto& layer : layout.layers) {
    for (std::size_t i = 0; i < layer.bias.cols; ++i) {
      ASSERT_EQ(parameters[layer.bias.offset + i], 0) << layer.bias.name;
    }
  }
}

TEST(Initialise, Bounds) {
  EXPECT_FLOAT_EQ(start_bound(kStartNetwork, 0), std::sqrt(3.0F / 70));
  EXPECT_FLOAT_EQ(start_bound(kStartNetwork, 1), std::sqrt(6.0F / 70));
  EXPECT_FLOAT_EQ(start_bound(kStartNetwork, 2), std::sqrt(1.0F / 33));
  auto other = kStartNetwork;
  other.input = Input::dense;
  EXPECT_FLOAT_EQ(start_bound(other, 0), std::sqrt(6.0F / 90));
  other.activation = Activation::tanh;
  EXPECT_FLOAT_EQ(start_bound(other, 0), std::sqrt(6.0F / (90 + 70)));
  other.hidden.clear();
  EXPECT_FLOAT_EQ(start_bound(other, 0), std::sqrt(1.0F / 90));
}

TEST(Initialise, WeightsAreUniformWithinTheBounds) {
  const auto layout = layout_of(kStartNetwork);
  const auto parameters = start(kStartNetwork, 4);
  for (std::size_t layer = 0; layer < layout.layers.size(); ++layer) {
    const auto& weight = layout.layers[layer].weight;
    const double bound = start_bound(kStartNetwork, layer);
    const auto count = static_cast<double>(weight.rows * weight.cols);
    double sum = 0, squares = 0, largest = 0;
    for (std::size_t r = 0; r < weight.rows; ++r) {
      for (std::size_t c = 0; c < weight.cols; ++c) {
        const double w = parameters[weight.offset + r * weight.stride + c] / bound;
        sum += w;
        squares += w * w;
        largest = std::max(largest, std::abs(w));
      }
    }
    // A uniform number in [-1, 1] has variance 1/3, its square 4/45: six standard deviations.
    EXPECT_NEAR(sum / count, 0, 6 * std::sqrt(1 / 3.0 / count)) << weight.name;
    EXPECT_NEAR(squares / count, 1 / 3.0, 6 * std::sqrt(4 / 45.0 / count)) << weight.name;
    EXPECT_LE(largest, 1 + 1e-6) << weight.name;
    EXPECT_GT(largest, 0.98) << weight.name;
  }
}

TEST(Initialise, NoNumberIsUsedTwice) {
  // 33 columns are no multiple of the generator's blocks of four; equal layers have equal bounds.
  const Network network{.features = 64, .hidden = {33, 33, 33}, .labels = 64};
  auto values = start(network, 6);
  std::erase(values, 0.0F);
  const auto count = values.size();
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  // Among about 6,000 of 2^24 floats a few are equal by chance, but not whole rows.
  EXPECT_GT(values.size(), count - 8);
}

TEST(StartFromFrequencies, BiasesAreWhatTheCountsPredict) {
  const auto data = dataset_of({{}, {}, {}}, 1, {{0}, {0, 1}, {}}, 3);
  const auto bias = [&](Loss loss, std::vector<std::uint32_t> rows, std::size_t label) {
    const Network network{.features = 1, .hidden = {2}, .labels = 3, .loss = loss};
    std::vector<float> parameters(layout_of(network).size);
    start_from_frequencies(network, data.labels, rows, parameters);
    return parameters[layout_of(network).layers.back().bias.offset + label];
  };
  EXPECT_FLOAT_EQ(bias(Loss::squared, {}, 0), 2.5F / 4);
  EXPECT_FLOAT_EQ(bias(Loss::squared, {1, 2}, 0), 1.5F / 3);
  EXPECT_FLOAT_EQ(bias(Loss::sigmoid, {}, 1), std::log(1.5F / 2.5F));
  EXPECT_FLOAT_EQ(bias(Loss::sigmoid, {}, 2), std::log(0.5F / 3.5F));
  EXPECT_FLOAT_EQ(bias(Loss::softmax, {}, 0), std::log(2.0F / 4));
}

}  // namespace
}  // namespace evener
