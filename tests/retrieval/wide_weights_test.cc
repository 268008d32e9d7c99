#include "evener/retrieval/wide_weights.h"

#include <cmath>
#include <set>

#include "tests/retrieval/small_data.h"
#include <gtest/gtest.h>

namespace evener {
namespace {

struct Case {
  Dataset data;
  Shortlist list;
};

Case small_case() {
  Case result{small_data(300, 60, 30, 11), {}};
  Team team(1);
  result.list = std::move(fit_retriever(result.data, {}, team, {}, {})->shortlist);
  return result;
}

double loss_of(const Case& at, std::uint32_t label, const std::vector<double>& w) {
  double loss = 0;
  for (std::size_t row = 0; row < at.data.rows(); ++row) {
    for (auto p = at.list.offsets[row]; p < at.list.offsets[row + 1]; ++p) {
      if (at.list.labels[p] != label) continue;
      const RowView x = at.data.features.row(row);
      double score = static_cast<double>(at.list.margins[p]);
      for (std::size_t i = 0; i < x.indices.size(); ++i) {
        score += static_cast<double>(x.values[i]) * w[x.indices[i]];
      }
      loss += std::log1p(std::exp(at.list.positive[p] != 0 ? -score : score));
    }
  }
  return loss;
}

std::vector<double> dense_weights(const WideWeights& weights, std::size_t label,
                                  std::size_t features) {
  std::vector<double> dense(features);
  for (auto i = weights.offsets[label]; i < weights.offsets[label + 1]; ++i) {
    dense[weights.features[i]] = static_cast<double>(weights.values[i]);
  }
  return dense;
}

/// Plain gradient descent on the same loss, over the same pattern.
std::vector<double> plain_solution(const Case& at, std::uint32_t label, std::size_t features,
                                   int steps) {
  std::vector<bool> pattern(features);
  for (std::size_t row = 0; row < at.data.rows(); ++row) {
    for (auto p = at.list.offsets[row]; p < at.list.offsets[row + 1]; ++p) {
      if (at.list.labels[p] != label || at.list.positive[p] == 0) continue;
      for (const auto f : at.data.features.row(row).indices) pattern[f] = true;
    }
  }
  std::vector<double> w(features);
  for (int step = 0; step < steps; ++step) {
    std::vector<double> gradient(features);
    for (std::size_t row = 0; row < at.data.rows(); ++row) {
      for (auto p = at.list.offsets[row]; p < at.list.offsets[row + 1]; ++p) {
        if (at.list.labels[p] != label) continue;
        const RowView x = at.data.features.row(row);
        double score = static_cast<double>(at.list.margins[p]);
        for (std::size_t i = 0; i < x.indices.size(); ++i) {
          score += static_cast<double>(x.values[i]) * w[x.indices[i]];
        }
        const double g = 1 / (1 + std::exp(-score)) - (at.list.positive[p] != 0 ? 1 : 0);
        for (std::size_t i = 0; i < x.indices.size(); ++i) {
          gradient[x.indices[i]] += g * static_cast<double>(x.values[i]);
        }
      }
    }
    for (std::size_t f = 0; f < features; ++f) {
      if (pattern[f]) w[f] -= 0.05 * gradient[f];
    }
  }
  return w;
}

TEST(WideWeights, ReachMostOfWhatAPlainSolverReaches) {
  const Case at = small_case();
  Team team(2);
  WideWeights weights;
  WideOptions options;
  options.epochs = 60;
  options.least_weight = 0;
  ASSERT_TRUE(train_wide(at.data, at.list, options, team, {}, weights));
  double before = 0, after = 0, plain = 0;
  for (std::uint32_t label = 0; label < at.data.label_count; ++label) {
    const std::size_t features = at.data.feature_count;
    before += loss_of(at, label, std::vector<double>(features));
    after += loss_of(at, label, dense_weights(weights, label, features));
    plain += loss_of(at, label, plain_solution(at, label, features, 200));
  }
  EXPECT_LT(plain, 0.9 * before);
  EXPECT_LT(after, plain + 0.1 * (before - plain));
}

TEST(WideWeights, BelongToFeaturesOfPositiveRows) {
  const Case at = small_case();
  Team team(1);
  WideWeights weights;
  ASSERT_TRUE(train_wide(at.data, at.list, {}, team, {}, weights));
  ASSERT_EQ(weights.labels(), at.data.label_count);
  std::vector<std::set<std::uint32_t>> pattern(at.data.label_count);
  for (std::size_t row = 0; row < at.data.rows(); ++row) {
    for (const auto label : at.data.labels.row(row).indices) {
      const auto features = at.data.features.row(row).indices;
      pattern[label].insert(features.begin(), features.end());
    }
  }
  EXPECT_GT(weights.values.size(), 100U);
  for (std::size_t label = 0; label < weights.labels(); ++label) {
    for (auto i = weights.offsets[label]; i < weights.offsets[label + 1]; ++i) {
      EXPECT_EQ(pattern[label].count(weights.features[i]), 1U);
      EXPECT_GE(std::abs(weights.values[i]), WideOptions{}.least_weight);
    }
  }
}

TEST(WideWeights, DoNotDependOnTheNumberOfThreads) {
  const Case at = small_case();
  Team one(1), three(3);
  WideWeights a, b;
  ASSERT_TRUE(train_wide(at.data, at.list, {}, one, {}, a));
  ASSERT_TRUE(train_wide(at.data, at.list, {}, three, {}, b));
  EXPECT_EQ(a.offsets, b.offsets);
  EXPECT_EQ(a.features, b.features);
  EXPECT_EQ(a.values, b.values);
}

TEST(WideWeights, ScoreAsADenseProduct) {
  const Case at = small_case();
  Team team(1);
  WideWeights weights;
  ASSERT_TRUE(train_wide(at.data, at.list, {}, team, {}, weights));
  const RowView row = at.data.features.row(3);
  std::vector<float> dense(at.data.feature_count);
  for (std::size_t i = 0; i < row.indices.size(); ++i) dense[row.indices[i]] = row.values[i];
  std::vector<std::uint32_t> labels{0, 7, 29};
  std::vector<float> scores(3);
  wide_scores(weights, labels, dense.data(), scores.data());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto w = dense_weights(weights, labels[i], at.data.feature_count);
    double expected = 0;
    for (std::size_t f = 0; f < w.size(); ++f) expected += w[f] * static_cast<double>(dense[f]);
    EXPECT_NEAR(scores[i], expected, 1e-4);
  }
}

}  // namespace
}  // namespace evener
