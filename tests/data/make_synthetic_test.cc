#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "evener/core/error.h"
#include "evener/core/random.h"
#include "evener/data/make/make.h"
#include "evener/data/make/zipf.h"
#include "evener/data/statistics.h"

namespace evener {
namespace {

using testing::HasSubstr;

bool same(const CsrView& a, const CsrView& b) {
  return std::ranges::equal(a.offsets, b.offsets) && std::ranges::equal(a.indices, b.indices) &&
         std::ranges::equal(a.values, b.values);
}

bool same(const Dataset& a, const Dataset& b) {
  return same(a.features, b.features) && same(a.labels, b.labels);
}

TEST(Zipf, DrawsByTheLaw) {
  for (const double exponent : {0.0, 0.5, 1.0, 2.5}) {
    constexpr std::uint32_t kRanks = 50;
    constexpr int kDraws = 200'000;
    const Zipf zipf(kRanks, exponent);
    Random random(1);
    std::vector<double> counts(kRanks);
    for (int i = 0; i < kDraws; ++i) ++counts.at(zipf.rank(random.next64()));
    double sum = 0;
    for (std::uint32_t r = 0; r < kRanks; ++r) sum += std::pow(r + 1.0, -exponent);
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      const double expected = kDraws * std::pow(r + 1.0, -exponent) / sum;
      EXPECT_NEAR(counts[r], expected, 5 * std::sqrt(expected) + 1) << exponent << " " << r;
    }
  }
}

TEST(Zipf, OfOneIsThatOne) {
  const Zipf zipf(1, 1);
  EXPECT_EQ(zipf.rank(0), 0U);
  EXPECT_EQ(zipf.rank(~std::uint64_t{0}), 0U);
}

TEST(Synthetic, HasTheSizesAsked) {
  SyntheticOptions options;
  options.rows = 4000;
  options.test_share = 0.25;
  const MadeData made = make_synthetic(options);
  EXPECT_EQ(made.train.rows(), 4000U);
  EXPECT_EQ(made.test.rows(), 1000U);
  EXPECT_EQ(made.features.size(), options.features);
  EXPECT_EQ(made.train.label_names.size(), options.labels);
  const Statistics s = statistics_of(made.train);
  EXPECT_EQ(s.feature_count, options.features);
  EXPECT_EQ(s.label_count, options.labels);
  EXPECT_NEAR(s.features_per_row.mean, options.features_per_row, 2);
  EXPECT_NEAR(s.labels_per_row.mean, options.labels_per_row, 0.1);
  EXPECT_EQ(s.rows_without_label + s.rows_without_feature, 0U);
  EXPECT_GT(s.features_per_row.max, 2 * s.features_per_row.min);  // unequal rows
}

TEST(Synthetic, RowsAreWellFormedForAnyOptions) {
  // check alone only prints the result.
  EXPECT_TRUE(rc::check([] {
    SyntheticOptions options;
    options.rows = *rc::gen::inRange(1, 30);
    options.features = *rc::gen::inRange(1, 60);
    options.labels = *rc::gen::inRange(1, 60);
    options.features_per_row = 1 + *rc::gen::inRange(0U, options.features);
    options.labels_per_row = 1 + *rc::gen::inRange(0U, options.labels);
    options.feature_exponent = *rc::gen::inRange(0, 4);
    options.label_exponent = *rc::gen::inRange(0, 4);
    options.noise = *rc::gen::inRange(0, 3) / 2.0;
    options.features_per_row = std::min<double>(options.features_per_row, options.features);
    options.labels_per_row = std::min<double>(options.labels_per_row, options.labels);
    const Dataset data = make_synthetic(options).train;
    const auto check = [&](const CsrView& rows, std::uint32_t limit) {
      RC_ASSERT(rows.rows() == options.rows);
      for (std::size_t r = 0; r < rows.rows(); ++r) {
        const auto indices = rows.row(r).indices;
        RC_ASSERT(!indices.empty());
        RC_ASSERT(indices.back() < limit);
        RC_ASSERT(std::ranges::is_sorted(indices, std::less_equal<>()));
      }
    };
    check(data.features, options.features);
    check(data.labels, options.labels);
    RC_ASSERT(data.features.values.size() == data.features.indices.size());
    for (const float value : data.features.values) RC_ASSERT(value >= 1);
  }));
}

TEST(Synthetic, IsAFunctionOfTheSeedAlone) {
  SyntheticOptions options;
  options.rows = 500;
  const MadeData one = make_synthetic(options);
  options.threads = 3;
  const MadeData three = make_synthetic(options);
  EXPECT_TRUE(same(one.train, three.train));
  EXPECT_TRUE(same(one.test, three.test));
  options.seed = 1;
  EXPECT_FALSE(same(one.train, make_synthetic(options).train));
}

TEST(Synthetic, TestRowsAreOthersThanTrainingRows) {
  SyntheticOptions options;
  options.rows = 200;
  options.test_share = 1;
  const MadeData made = make_synthetic(options);
  EXPECT_FALSE(same(made.train, made.test));
}

TEST(Synthetic, OneLabelPerRowIsExactlyOne) {
  SyntheticOptions options;
  options.rows = 300;
  options.labels_per_row = 1;
  const Statistics s = statistics_of(make_synthetic(options).train);
  EXPECT_EQ(s.labels_per_row.min, 1U);
  EXPECT_EQ(s.labels_per_row.max, 1U);
}

// The share of test rows whose first label naive Bayes predicts from the training rows: a baseline
// without a network.
double learnable_share(const MadeData& made) {
  std::map<std::uint32_t, std::map<std::uint32_t, double>> counts;  // label -> feature -> n
  std::map<std::uint32_t, double> totals;
  for (std::size_t r = 0; r < made.train.rows(); ++r) {
    for (const auto label : made.train.labels.row(r).indices) {
      for (const auto feature : made.train.features.row(r).indices) {
        ++counts[label][feature];
        ++totals[label];
      }
    }
  }
  double right = 0;
  for (std::size_t r = 0; r < made.test.rows(); ++r) {
    std::pair<double, std::uint32_t> best{-1e300, 0};
    for (const auto& [label, of_label] : counts) {
      double score = std::log(totals[label]);
      for (const auto feature : made.test.features.row(r).indices) {
        const auto found = of_label.find(feature);
        const double n = found == of_label.end() ? 0 : found->second;
        score += std::log((n + 0.1) / (totals[label] + 0.1 * made.train.feature_count));
      }
      best = std::max(best, {score, label});
    }
    const auto labels = made.test.labels.row(r).indices;
    right += std::ranges::find(labels, best.second) != labels.end();
  }
  return right / static_cast<double>(made.test.rows());
}

TEST(Synthetic, HasAStructureThatCanBeLearnt) {
  SyntheticOptions options;
  options.rows = 2000;
  options.features = 1000;
  options.labels = 50;
  options.features_per_row = 20;
  options.labels_per_row = 2;
  const double learnt = learnable_share(make_synthetic(options));
  options.noise = 1;
  const double noise = learnable_share(make_synthetic(options));
  EXPECT_GT(learnt, 0.8);
  EXPECT_LT(noise, 0.5);
}

TEST(Synthetic, NamesTellTopicAndPopularity) {
  SyntheticOptions options;
  options.rows = 5000;
  options.label_exponent = 1;
  const MadeData made = make_synthetic(options);
  std::vector<int> counts(options.labels);
  for (const auto label : made.train.labels.indices) ++counts[label];
  const auto top = std::ranges::max_element(counts) - counts.begin();
  EXPECT_THAT(made.train.label_names[static_cast<std::size_t>(top)], HasSubstr(".r0"));
  const std::set<std::string> names(made.features.begin(), made.features.end());
  EXPECT_EQ(names.size(), options.features);
}

TEST(Synthetic, RefusesWhatCannotBe) {
  const auto refuses = [](auto change) {
    SyntheticOptions options;
    change(options);
    EXPECT_THROW(make_synthetic(options), UsageError);
  };
  refuses([](auto& o) { o.rows = 0; });
  refuses([](auto& o) { o.features = 0; });
  refuses([](auto& o) { o.labels = 0; });
  refuses([](auto& o) { o.features_per_row = 0.5; });
  refuses([](auto& o) { o.features_per_row = o.features + 1.0; });
  refuses([](auto& o) { o.labels_per_row = o.labels + 1.0; });
  refuses([](auto& o) { o.noise = 1.5; });
  refuses([](auto& o) { o.noise = std::nan(""); });
  refuses([](auto& o) { o.test_share = -1; });
  refuses([](auto& o) { o.label_exponent = -1; });
  refuses([](auto& o) { o.threads = 0; });
}

TEST(Shapes, AreTakenByName) {
  SyntheticOptions base;
  base.seed = 7;
  const SyntheticOptions options = synthetic_of_shape("wiki10-31k", base);
  EXPECT_EQ(options.rows, 14'146U);
  EXPECT_EQ(std::llround(options.test_share * 14'146), 6'616);
  EXPECT_EQ(options.features, 101'938U);
  EXPECT_EQ(options.labels, 30'938U);
  EXPECT_EQ(options.seed, 7U);
  try {
    synthetic_of_shape("amazon");
    ADD_FAILURE() << "no error";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("amazon-670k, delicious-200k, eurlex-4k, wiki10-31k"));
  }
}

}  // namespace
}  // namespace evener
