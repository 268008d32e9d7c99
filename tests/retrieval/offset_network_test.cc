#include "evener/retrieval/offset_network.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "evener/core/random.h"

namespace evener {
namespace {

// Two features decide, one of them not linearly; the rest is noise.
double log_odds(const PairFeatures& f) {
  return -2 + 1.5 * static_cast<double>(f[0]) + (f[4] > 0 ? 2 * static_cast<double>(f[4]) : 0);
}

struct Pairs {
  std::vector<PairFeatures> features;
  std::vector<std::uint8_t> positive;
};

Pairs random_pairs(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  Pairs pairs;
  for (std::size_t i = 0; i < count; ++i) {
    PairFeatures f;
    for (float& value : f) value = static_cast<float>(random.normal());
    pairs.features.push_back(f);
    pairs.positive.push_back(random.uniform() < 1 / (1 + std::exp(-log_odds(f))) ? 1 : 0);
  }
  return pairs;
}

TEST(OffsetNetwork, LearnsLogOdds) {
  const Pairs pairs = random_pairs(60'000, 1);
  const OffsetNetwork network = *train_offset(pairs.features, pairs.positive, {}, {});
  double error = 0;
  const Pairs fresh = random_pairs(2000, 2);
  for (const PairFeatures& f : fresh.features) {
    error += std::abs(static_cast<double>(offset_of(network, f)) - log_odds(f)) / 2000;
  }
  EXPECT_LT(error, 0.2);
}

TEST(OffsetNetwork, IgnoresAFeatureThatIsConstant) {
  Pairs pairs = random_pairs(5000, 3);
  for (PairFeatures& f : pairs.features) f[7] = 3;
  const OffsetNetwork network = *train_offset(pairs.features, pairs.positive, {}, {});
  PairFeatures a = pairs.features[0], b = a;
  b[7] = 100;
  EXPECT_EQ(offset_of(network, a), offset_of(network, b));
}

}  // namespace
}  // namespace evener
