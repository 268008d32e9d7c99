#include "evener/core/random.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace evener {
namespace {

// Known answers of the generator's authors for Philox4x32-10.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Random, StreamsAreReproducibleAndDiffer) {
  Random a(7, 1), b(7, 1), c(7, 2);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const auto x = a.next();
    EXPECT_EQ(x, b.next());
    differs |= x != c.next();
  }
  EXPECT_TRUE(differs);
}

TEST(Random, MomentsOfUniformAndNormal) {
  Random random(3);
  constexpr int kCount = 100000;
  double sum = 0, normal_sum = 0, normal_square = 0;
  for (int i = 0; i < kCount; ++i) {
    sum += random.uniform();
    const double n = random.normal();
    normal_sum += n;
    normal_square += n * n;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);
  EXPECT_NEAR(normal_sum / kCount, 0.0, 0.015);
  EXPECT_NEAR(normal_square / kCount, 1.0, 0.02);
}

TEST(Random, ShuffleIsAPermutation) {
  std::vector<int> items(1000);
  std::iota(items.begin(), items.end(), 0);
  auto shuffled = items;
  Random(5).shuffle(std::span(shuffled));
  EXPECT_NE(shuffled, items);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, items);
}

}  // namespace
}  // namespace evener
