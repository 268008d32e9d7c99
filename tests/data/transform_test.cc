#include "evener/data/transform.h"

#include <cmath>
#include <set>

#include "tests/data/helpers.h"
#include <rapidcheck/gtest.h>

namespace evener {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

Dataset sample() {
  return dataset_from({{{0, 3}, {2, 4}}, {{1, 0.5F}}, {}, {{0, 0}, {2, 20}}},
                      {{0}, {1}, {}, {0, 1}}, 4, 2, {"a", "b"});
}

TEST(Transform, IdentityIsTheSameData) {
  const Dataset data = sample();
  const Dataset same = apply_transform(data, fit_transform(data, {0, false, false}), 2);
  EXPECT_EQ(same.features.values.data(), data.features.values.data());
}

TEST(Transform, NormalisesRowsAndSharesTheRest) {
  const Dataset data = sample();
  const Dataset unit = apply_transform(data, fit_transform(data, {}), 2);
  EXPECT_EQ(features_of(unit), (Rows{{{0, 0.6F}, {2, 0.8F}}, {{1, 1}}, {}, {{0, 0}, {2, 1}}}));
  EXPECT_EQ(unit.features.indices.data(), data.features.indices.data());
  EXPECT_EQ(unit.labels.indices.data(), data.labels.indices.data());
  EXPECT_EQ(unit.label_names, data.label_names);
}

TEST(Transform, WhatIsSharedOutlivesTheSource) {
  Dataset unit;
  {
    const Dataset data = sample();
    unit = apply_transform(data, fit_transform(data, {}), 1);
  }
  EXPECT_EQ(labels_of(unit), (Labels{{0}, {1}, {}, {0, 1}}));
  EXPECT_EQ(features_of(unit)[1], (Rows{{{1, 1}}})[0]);
}

TEST(Transform, TfIdf) {
  const Dataset data = sample();
  const Transform transform = fit_transform(data, {0, true, false});
  const auto idf = [](double rows_with) {
    return static_cast<float>(std::log(5 / (1 + rows_with)) + 1);
  };
  // A stored zero does not count as an occurrence.
  EXPECT_THAT(transform.idf,
              ElementsAre(FloatEq(idf(1)), FloatEq(idf(1)), FloatEq(idf(2)), FloatEq(idf(0))));
  const Rows rows = features_of(apply_transform(data, transform, 1));
  EXPECT_FLOAT_EQ(rows[0][0].second, (1 + std::log(3.0F)) * idf(1));
  EXPECT_FLOAT_EQ(rows[1][0].second, 0.5F * idf(1));
  EXPECT_FLOAT_EQ(rows[3][1].second, (1 + std::log(20.0F)) * idf(2));
}

TEST(Transform, DataWithMoreFeaturesThanWeightsIsRefused) {
  const Dataset data = sample();
  EXPECT_THROW(apply_transform(data, {{0, true, false}, {1, 1, 1}}, 1), Error);
}

TEST(Transform, FeaturesWithoutValuesAreOnes) {
  Dataset data = sample();
  data.features.values = {};
  const Dataset unit = apply_transform(data, fit_transform(data, {}), 1);
  EXPECT_FLOAT_EQ(unit.features.values[0], std::sqrt(0.5F));
  EXPECT_FLOAT_EQ(unit.features.values[2], 1);
}

TEST(Transform, HashingSpreadsFeaturesAndSigns) {
  Rows rows(1);
  for (std::uint32_t i = 0; i < 4096; ++i) rows[0].emplace_back(i, 1.0F);
  const Dataset data = dataset_from(rows, {{0}}, 4096, 1);
  const Dataset folded = apply_transform(data, fit_transform(data, {1 << 20, false, false}), 1);
  EXPECT_EQ(folded.feature_count, 1U << 20);
  EXPECT_GT(folded.features.nonzeros(), 4060U);
  double sum = 0;
  for (const float value : folded.features.values) sum += value;
  EXPECT_LT(std::abs(sum), 4 * std::sqrt(4096.0));
  std::set<std::uint32_t> quarters;
  for (const std::uint32_t index : folded.features.indices) quarters.insert(index >> 18);
  EXPECT_EQ(quarters.size(), 4U);
}

// Folding preserves inner products on average; exactly here, because nothing collides.
TEST(Transform, CollidingFeaturesAddUp) {
  const Dataset data = dataset_from({{{0, 1}, {1, 2}, {2, 4}}}, {{0}}, 3, 1);
  const Dataset folded = apply_transform(data, fit_transform(data, {1, false, false}), 1);
  ASSERT_EQ(folded.features.nonzeros(), 1U);
  EXPECT_THAT(std::abs(folded.features.values[0]), ::testing::AnyOf(7, 5, 3, 1));
}

TEST(Transform, IdfIsLearntAfterHashing) {
  const Dataset data = sample();
  const Transform transform = fit_transform(data, {8, true, true});
  EXPECT_EQ(transform.idf.size(), 8U);
  const Dataset result = apply_transform(data, transform, 1);
  EXPECT_EQ(result.feature_count, 8U);
}

RC_GTEST_PROP(TransformProperty, RowsStayOrderedAndThreadsDoNotMatter,
              (bool tfidf, bool normalise)) {
  const auto sizes =
      *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 12));
  Rows rows;
  for (const std::uint32_t size : sizes) {
    auto& row = rows.emplace_back();
    for (std::uint32_t i = 0; i < size; ++i) {
      row.emplace_back(i * 5 + size % 5, static_cast<float>(i) - 2.5F);
    }
  }
  const Dataset data = dataset_from(rows, Labels(rows.size()), 70, 1);
  const TransformOptions options{*rc::gen::element(0U, 7U, 1000U), tfidf, normalise};
  const Transform transform = fit_transform(data, options);
  const Dataset one = apply_transform(data, transform, 1);
  const Dataset many = apply_transform(data, transform, *rc::gen::inRange(2, 6));
  RC_ASSERT(features_of(one) == features_of(many));
  RC_ASSERT(one.rows() == data.rows());
  for (const auto& row : features_of(one)) {
    double squares = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      RC_ASSERT(row[i].first < one.feature_count);
      if (i > 0) RC_ASSERT(row[i - 1].first < row[i].first);
      squares += static_cast<double>(row[i].second) * row[i].second;
    }
    if (normalise && squares > 0) RC_ASSERT(std::abs(squares - 1) < 1e-5);
  }
}

}  // namespace
}  // namespace evener
