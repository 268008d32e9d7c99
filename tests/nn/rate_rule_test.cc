#include "evener/nn/rate_rule.h"

#include <gtest/gtest.h>

namespace evener {
namespace {

TEST(RateRule, TheReferenceGetsTheRateAsItIs) {
  for (const auto optimizer :
       {Optimizer::sgd, Optimizer::momentum, Optimizer::adam, Optimizer::adagrad}) {
    EXPECT_EQ(rate_factor(rate_rule_of(optimizer, 256), 256), 1) << to_string(optimizer);
    EXPECT_EQ(rate_factor(rate_rule_of(optimizer, 0), 17), 1) << "no reference, no rule";
  }
}

TEST(RateRule, GrowsByTheRootOrInProportionUpToTheCap) {
  const RateRule adam = rate_rule_of(Optimizer::adam, 256);
  const RateRule sgd = rate_rule_of(Optimizer::sgd, 256);
  EXPECT_EQ(rate_factor(adam, 64), 0.5);
  EXPECT_EQ(rate_factor(adam, 1), 1.0 / 16);
  EXPECT_EQ(rate_factor(adam, 1024), 2);
  EXPECT_EQ(rate_factor(sgd, 64), 0.25);
  EXPECT_EQ(rate_factor(sgd, 512), 2);
  EXPECT_EQ(rate_factor(sgd, 1 << 20), 4);
  EXPECT_EQ(rate_factor(adam, 1 << 20), 4);
}

}  // namespace
}  // namespace evener
