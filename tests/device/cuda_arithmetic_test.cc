// The arithmetic of the CUDA kernels for one element, checked against the formulas on the host.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "evener/core/random.h"
#include "evener/device/cuda/arithmetic.h"

namespace evener::cuda {
namespace {

constexpr int kValues = 2000;

double between(Random& random, double low, double high) {
  return low + (high - low) * random.uniform();
}

void expect_near(double got, double want, double tolerance = 1e-5) {
  EXPECT_NEAR(got, want, tolerance * (1 + std::abs(want)));
}

/// One parameter and its state, by the formulas of nn/training.h.
struct Parameter {
  double weight, first, second;

  void update(const Training& training, const Step& step, double l2, double g) {
    const double b1 = training.beta1, b2 = training.beta2;
    const auto t = static_cast<double>(step.number);
    const double rate = step.learning_rate, epsilon = training.epsilon;
    g += l2 * weight;
    switch (training.optimizer) {
      case Optimizer::sgd:
        weight -= rate * g;
        break;
      case Optimizer::momentum:
        first = training.momentum * first + g;
        weight -= rate * first;
        break;
      case Optimizer::adam:
        first = b1 * first + (1 - b1) * g;
        second = b2 * second + (1 - b2) * g * g;
        weight -= rate * (first / (1 - std::pow(b1, t))) /
                  (std::sqrt(second / (1 - std::pow(b2, t))) + epsilon);
        break;
      case Optimizer::adagrad:
        first += g * g;
        weight -= rate * g / (std::sqrt(first) + epsilon);
        break;
      case Optimizer::accumulate:
        first += g;
        break;
    }
  }
};

template <Optimizer kOptimizer>
void check_updates() {
  SCOPED_TRACE(to_string(kOptimizer));
  Random random(1);
  Training training;
  training.optimizer = kOptimizer;
  training.epsilon = 1e-4F;
  for (int i = 0; i < kValues; ++i) {
    const Step step{1 + random.below(1000), static_cast<float>(between(random, 1e-4, 0.5))};
    const float l2 = i % 2 == 0 ? 0.0F : 0.01F;
    const auto g = static_cast<float>(between(random, -2, 2));
    auto weight = static_cast<float>(between(random, -1, 1));
    auto first = static_cast<float>(between(random, 0, 1));
    auto second = static_cast<float>(between(random, 0, 1));
    Parameter expected{weight, first, second};
    expected.update(training, step, l2, g);
    update<kOptimizer>(update_rule(training, step), l2, g, &weight, &first, &second);
    expect_near(weight, expected.weight);
    expect_near(first, expected.first);
    expect_near(second, expected.second);
  }
}

TEST(CudaArithmetic, OptimizersFollowTheirFormulas) {
  check_updates<Optimizer::sgd>();
  check_updates<Optimizer::momentum>();
  check_updates<Optimizer::adam>();
  check_updates<Optimizer::adagrad>();
  check_updates<Optimizer::accumulate>();
}

// For state that is not kept, kernels pass other memory.
TEST(CudaArithmetic, StateThatIsNotKeptIsNotTouched) {
  const UpdateRule rule = update_rule({.optimizer = Optimizer::sgd}, {1, 0.5F});
  float weight = 1;
  update<Optimizer::sgd>(rule, 0.1F, 1, &weight, nullptr, nullptr);
  expect_near(weight, 1 - 0.5 * 1.1);
  float first = 0;
  update<Optimizer::accumulate>(rule, 0, 2, nullptr, &first, nullptr);
  EXPECT_EQ(first, 2);
}

TEST(CudaArithmetic, Activations) {
  Random random(2);
  for (int i = 0; i < kValues; ++i) {
    const auto z = static_cast<float>(between(random, -12, 12));
    const double sigmoid = 1 / (1 + std::exp(-double{z}));
    expect_near(activation_of(Activation::relu, z), std::max(z, 0.0F));
    EXPECT_NEAR(activation_of(Activation::sigmoid, z) / sigmoid, 1, 1e-5);  // small ones too
    expect_near(activation_of(Activation::tanh, z), std::tanh(double{z}));
    expect_near(derivative_of(Activation::relu, std::max(z, 0.0F)), z > 0 ? 1 : 0);
    expect_near(derivative_of(Activation::sigmoid, logistic(z)), sigmoid * (1 - sigmoid));
    const double t = std::tanh(double{z});
    expect_near(derivative_of(Activation::tanh, static_cast<float>(t)), 1 - t * t);
  }
  EXPECT_EQ(logistic(-1000), 0);
  EXPECT_EQ(logistic(1000), 1);
}

TEST(CudaArithmetic, DropoutIsTheMasks) {
  for (const float rate : {0.0F, 0.1F, 0.5F, 0.9F}) {
    const DropoutMask mask(rate, 7, 1'000'000'007, 2);
    const Dropout dropout = dropout_for(mask);
    for (std::uint32_t sample = 0; sample < 40; ++sample) {
      for (std::uint32_t unit = 0; unit < 50; ++unit) {
        ASSERT_EQ(dropout.factor(sample, unit), mask.factor(sample, unit)) << rate;
      }
    }
  }
}

TEST(CudaArithmetic, UnitsForwardAndBack) {
  Random random(3);
  const DropoutMask mask(0.4F, 7, 3, 1);
  for (const auto activation : {Activation::relu, Activation::sigmoid, Activation::tanh}) {
    for (std::uint32_t i = 0; i < kValues; ++i) {
      const auto z = static_cast<float>(between(random, -4, 4));
      const auto error = static_cast<float>(between(random, -1, 1));
      const std::uint32_t sample = i % 17;
      const double factor = mask.factor(sample, i);
      const float output = unit_output(activation, dropout_for(mask), z, sample, i);
      expect_near(output, factor * activation_of(activation, z));
      expect_near(unit_error(activation, dropout_for(mask), output, error, sample, i),
                  factor * error * derivative_of(activation, activation_of(activation, z)));
    }
  }
}

TEST(CudaArithmetic, ElementwiseLosses) {
  Random random(4);
  for (int i = 0; i < kValues; ++i) {
    const auto z = static_cast<float>(between(random, -30, 30));
    const PointLoss squared = point_loss(Loss::squared, z);
    expect_near(squared.loss, 0.5 * z * z);
    expect_near(squared.gradient, z);
    const PointLoss sigmoid = point_loss(Loss::sigmoid, z);
    const double want = std::max(double{z}, 0.0) + std::log1p(std::exp(-std::abs(double{z})));
    EXPECT_NEAR(sigmoid.loss / want, 1, 1e-5);
    expect_near(sigmoid.gradient, 1 / (1 + std::exp(-double{z})));
  }
}

// Maximum and sum of parts, combined as in the kernels, are those of the whole.
TEST(CudaArithmetic, SoftmaxSumsOfPartsJoin) {
  Random random(5);
  const auto sum_over = [](const std::vector<float>& logits, float top) {
    float sum = 0;
    for (const float z : logits) sum += std::exp(z - top);
    return sum;
  };
  std::vector<float> low, high, all;
  for (int i = 0; i < 50; ++i) {
    low.push_back(static_cast<float>(between(random, -90, -60)));
    high.push_back(static_cast<float>(between(random, 80, 100)));
  }
  all = low;
  all.insert(all.end(), high.begin(), high.end());
  const float low_top = *std::max_element(low.begin(), low.end());
  const float top = *std::max_element(high.begin(), high.end());
  const float joined = sum_over(low, low_top) * rescaling(low_top, top) +
                       sum_over(high, top) * rescaling(top, top) + 0 * rescaling(kLowest, top);
  expect_near(joined, sum_over(all, top));
}

TEST(CudaArithmetic, RankingAndClipping) {
  EXPECT_TRUE(ranks_before(2, 9, 1, 3));
  EXPECT_FALSE(ranks_before(1, 3, 2, 9));
  EXPECT_TRUE(ranks_before(1, 3, 1, 9));
  EXPECT_FALSE(ranks_before(1, 9, 1, 3));
  EXPECT_FALSE(ranks_before(1, 3, 1, 3));
  EXPECT_EQ(clip_factor(5, 9), 1);
  expect_near(clip_factor(1.5F, 9), 0.5);
  EXPECT_EQ(clip_factor(5, 0), 1);
}

}  // namespace
}  // namespace evener::cuda
