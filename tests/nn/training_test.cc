#include "evener/nn/training.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/core/error.h"

namespace evener {
namespace {

TEST(Training, OptimizerNames) {
  for (const auto o : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam, Optimizer::adagrad}) {
    EXPECT_EQ(parse_optimizer(to_string(o)), o);
  }
  try {
    parse_optimizer("lion");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("optimizer 'lion'"));
    EXPECT_THAT(error.what(), testing::HasSubstr("sgd, momentum, adam, adagrad"));
  }
}

TEST(Training, StateVectors) {
  EXPECT_EQ(state_vectors(Optimizer::sgd), 0);
  EXPECT_EQ(state_vectors(Optimizer::momentum), 1);
  EXPECT_EQ(state_vectors(Optimizer::adam), 2);
  EXPECT_EQ(state_vectors(Optimizer::adagrad), 1);
}

TEST(DropoutMask, IsInactiveAtRateZero) {
  const DropoutMask mask(0, 1, 1, 0);
  EXPECT_FALSE(mask.active());
  for (std::uint32_t u = 0; u < 1000; ++u) EXPECT_EQ(mask.factor(3, u), 1.0F);
}

TEST(DropoutMask, DropsItsShareAndScalesTheRest) {
  constexpr std::uint32_t kRows = 200, kUnits = 500;
  for (const float rate : {0.1F, 0.5F, 0.8F}) {
    const DropoutMask mask(rate, 5, 17, 2);
    EXPECT_TRUE(mask.active());
    double dropped = 0;
    double total = 0;
    for (std::uint32_t r = 0; r < kRows; ++r) {
      for (std::uint32_t u = 0; u < kUnits; ++u) {
        const float factor = mask.factor(r, u);
        if (factor == 0) {
          ++dropped;
        } else {
          EXPECT_FLOAT_EQ(factor, 1 / (1 - rate));
        }
        total += factor;
      }
    }
    // Six standard deviations of the share of 100,000 independent draws.
    const double deviation = std::sqrt(rate * (1 - rate) / (kRows * kUnits));
    EXPECT_NEAR(dropped / (kRows * kUnits), rate, 6 * deviation);
    EXPECT_NEAR(total / (kRows * kUnits), 1, 6 * deviation / (1 - rate));
  }
}

TEST(DropoutMask, DiffersByRowUnitStepLayerAndSeed) {
  const auto pattern = [](std::uint64_t seed, std::uint64_t step, std::uint32_t layer,
                          std::uint32_t row) {
    const DropoutMask mask(0.5F, seed, step, layer);
    std::vector<float> factors;
    for (std::uint32_t u = 0; u < 64; ++u) factors.push_back(mask.factor(row, u));
    return factors;
  };
  const auto base = pattern(1, 1, 1, 0);
  EXPECT_EQ(pattern(1, 1, 1, 0), base);
  EXPECT_NE(pattern(2, 1, 1, 0), base);
  EXPECT_NE(pattern(1, 2, 1, 0), base);
  EXPECT_NE(pattern(1, 1 + (std::uint64_t{1} << 32), 1, 0), base);
  EXPECT_NE(pattern(1, 1, 2, 0), base);
  EXPECT_NE(pattern(1, 1, 1, 1), base);
}

}  // namespace
}  // namespace evener
