// Updates of a model that several threads change at the same time.
#include "evener/device/update_rule.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "evener/core/buffer.h"
#include "evener/device/vector/vector_kernels.h"

namespace evener {
namespace {

/// One vector of parameters with adam's sums.
struct State {
  FloatBuffer weight{kVectorMultiple}, m{kVectorMultiple}, v{kVectorMultiple},
      gradient{kVectorMultiple};

  void update(const UpdateRule& rule) {
    vector_kernels().update(rule, {weight.data(), m.data(), v.data()}, gradient.data(),
                            kVectorMultiple, 0);
  }
};

// A thread reads both sums, another adds to both, the first writes its v back: v has lost an
// addition that m has.
TEST(AdamUpdate, SurvivesTheLossOfAnothersSquares) {
  constexpr float kRate = 0.01F;
  State state;
  for (std::size_t i = 0; i < kVectorMultiple; ++i) state.m.data()[i] = 0.1F;
  state.update(update_rule({.optimizer = Optimizer::adam}, {50, kRate}));
  for (std::size_t i = 0; i < kVectorMultiple; ++i) {
    EXPECT_LT(std::abs(state.weight.data()[i]), 10 * kRate);
    EXPECT_GT(state.v.data()[i], 0) << "the next step is to find a sound state";
  }
}

RC_GTEST_PROP(AdamUpdate, NeverMeetsTheBoundAlone, (std::vector<std::int8_t> gradients)) {
  const float beta1 = *rc::gen::element(0.5F, 0.9F, 0.99F);
  const float beta2 = *rc::gen::element(0.99F, 0.999F, 0.9999F);
  const float share = least_share_of_square(beta1, beta2);
  RC_ASSERT(share > 0);
  float m = 0, v = 0;
  for (const float g : gradients) {
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    RC_ASSERT(v >= share * m * m);
  }
}

// The gradients closest to the bound: each is beta1 / beta2 times the next one.
TEST(AdamUpdate, TheBoundIsTight) {
  double m = 0, v = 0;
  for (int i = -300; i <= 0; ++i) {
    const double g = std::pow(0.9 / 0.999, -i);
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
  }
  const double share = least_share_of_square(0.9F, 0.999F);
  EXPECT_GT(v, share * m * m);
  EXPECT_LT(v, 1.02 * share * m * m);
}

// Instruction sets may replace roots and divisions by estimates that they refine.
class StepLength : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    use_instruction_set(GetParam(), [] {});
  }
  void TearDown() override {
    use_instruction_set(instruction_sets().front(), [] {});
  }
};

INSTANTIATE_TEST_SUITE_P(Sets, StepLength, testing::ValuesIn(instruction_sets()));

TEST_P(StepLength, IsExactForGradientsOfAnySize) {
  for (float gradient = 1e-18F; gradient < 1e15F; gradient *= 3.7F) {
    State state;
    state.gradient.data()[0] = gradient;
    state.gradient.data()[1] = -gradient;
    const UpdateRule rule = update_rule({.optimizer = Optimizer::adam}, {3, 1.0F});
    state.update(rule);
    const double m = state.m.data()[0], v = state.v.data()[0];
    const double step = rule.learning_rate * m / (std::sqrt(v) * rule.root_scale + rule.epsilon);
    EXPECT_NEAR(state.weight.data()[0], -step, 1e-6 * step) << gradient;
    EXPECT_NEAR(state.weight.data()[1], step, 1e-6 * step) << gradient;
    EXPECT_EQ(state.weight.data()[2], 0) << "no gradient, no step";
  }
}

TEST(AdamUpdate, HasNoBoundWhereTheFirstSumOutlivesTheSecond) {
  EXPECT_EQ(least_share_of_square(0.99F, 0.9F), 0);
}

}  // namespace
}  // namespace evener
