// Small cases computed by hand; tests/nn/golden_test.cc compares larger ones with other programs.
#include "evener/nn/metrics.h"

#include <cmath>

#include "tests/nn/problem.h"
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace evener {
namespace {

Predictions predictions_of(const std::vector<LabelRow>& best,
                           const std::vector<std::vector<float>>& scores = {}) {
  Predictions predictions;
  predictions.k = static_cast<std::uint32_t>(best.at(0).size());
  predictions.losses.resize(best.size());
  for (std::size_t row = 0; row < best.size(); ++row) {
    for (std::uint32_t i = 0; i < predictions.k; ++i) {
      predictions.labels.push_back(best[row][i]);
      predictions.scores.push_back(scores.empty() ? 1.0F - 0.1F * static_cast<float>(i)
                                                  : scores[row][i]);
    }
  }
  return predictions;
}

Metrics evaluate_rows(const Predictions& predictions, const std::vector<LabelRow>& truth,
                      std::uint32_t labels, std::span<const float> weights = {}) {
  const auto arrays = label_arrays(truth);
  return evaluate(predictions, arrays.view(), labels, weights);
}

TEST(Metrics, PrecisionAndGainByHand) {
  // Row 0 has hits at ranks 1 and 3 of its three labels, row 1 a hit at rank 2 of its one label,
  // row 2 no label at all.
  const auto m =
      evaluate_rows(predictions_of({{4, 0, 7}, {1, 2, 3}, {0, 1, 2}}), {{4, 7, 9}, {2}, {}}, 10);
  EXPECT_DOUBLE_EQ(m.at("p@1"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(m.at("p@3"), 3.0 / 9);
  const double second = 1 / std::log2(3.0);
  EXPECT_DOUBLE_EQ(m.at("ndcg@1"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(m.at("ndcg@3"), ((1 + 0.5) / (1 + second + 0.5) + second) / 3);
  EXPECT_FALSE(m.contains("p@5"));
  EXPECT_FALSE(m.contains("psp@1"));
  EXPECT_FALSE(m.contains("accuracy"));
}

TEST(Metrics, PropensityScoredPrecisionByHand) {
  const std::vector<float> weights{1, 2, 4, 8};
  // Row 0 gets 1 of at most 8; row 1 gets 2 of 2.
  const auto m = evaluate_rows(predictions_of({{0, 2, 1}, {1, 0, 2}}), {{0, 3}, {1}}, 4, weights);
  EXPECT_DOUBLE_EQ(m.at("psp@1"), (1.0 + 2) / (8 + 2));
  EXPECT_DOUBLE_EQ(m.at("psp@3"), (1.0 + 2) / (9 + 2));
}

TEST(Metrics, AccuracyWhereEveryRowHasOneLabel) {
  const auto m = evaluate_rows(predictions_of({{0}, {1}, {2}, {2}}), {{0}, {1}, {1}, {2}}, 3);
  EXPECT_DOUBLE_EQ(m.at("accuracy"), 0.75);
  EXPECT_FALSE(m.contains("auc"));
}

TEST(Metrics, AreaCountsTiesHalf) {
  // Chance of label 1: 0.9 and 0.4 for the true ones, 0.4 and 0.1 for the others.
  const auto m =
      evaluate_rows(predictions_of({{1, 0}, {0, 1}, {0, 1}, {0, 1}},
                                   {{0.9F, 0.1F}, {0.6F, 0.4F}, {0.6F, 0.4F}, {0.9F, 0.1F}}),
                    {{1}, {1}, {0}, {0}}, 2);
  EXPECT_DOUBLE_EQ(m.at("auc"), 3.5 / 4);
}

TEST(Metrics, NoAreaWhereOneLabelIsMissing) {
  const auto m = evaluate_rows(predictions_of({{1, 0}, {0, 1}}), {{1}, {1}}, 2);
  EXPECT_FALSE(m.contains("auc"));
  EXPECT_TRUE(m.contains("accuracy"));
}

TEST(Metrics, LossIsTheMean) {
  auto predictions = predictions_of({{0}, {1}, {0}});
  predictions.losses = {1.0F, 2.5F, 0.25F};
  EXPECT_DOUBLE_EQ(evaluate_rows(predictions, {{0}, {}, {1}}, 2).at("loss"), 1.25);
}

TEST(Metrics, OfNothing) {
  Predictions predictions;
  predictions.k = 5;
  const auto m = evaluate(predictions, {}, 9);
  EXPECT_EQ(m.at("loss"), 0);
  EXPECT_EQ(m.at("p@5"), 0);
  EXPECT_FALSE(m.contains("accuracy"));
}

TEST(Metrics, InversePropensitiesByHand) {
  // 100 rows; label 0 in 30 of them, label 1 in none.
  std::vector<LabelRow> labels(100);
  for (std::size_t r = 0; r < 30; ++r) labels[r] = {0};
  const auto train = dataset_of(std::vector<SparseRow>(100), 1, labels, 2);
  const auto weights = inverse_propensities(train, 0.55, 1.5);
  const double c = (std::log(100.0) - 1) * std::pow(2.5, 0.55);
  ASSERT_EQ(weights.size(), 2U);
  EXPECT_NEAR(weights[0], 1 + c / std::pow(31.5, 0.55), 1e-6);
  EXPECT_NEAR(weights[1], 1 + c / std::pow(1.5, 0.55), 1e-6);
  EXPECT_GT(weights[1], weights[0]);
}

TEST(Metrics, InversePropensitiesOfTinySetsAreOne) {
  const auto train = dataset_of({{}, {}}, 1, {{0}, {}}, 2);
  EXPECT_EQ(inverse_propensities(train), (std::vector<float>{1, 1}));
}

TEST(Metrics, OnlyLossIsBetterWhenSmaller) {
  EXPECT_FALSE(larger_is_better("loss"));
  for (const auto* name : {"p@1", "ndcg@5", "psp@3", "auc", "accuracy"}) {
    EXPECT_TRUE(larger_is_better(name));
  }
}

RC_GTEST_PROP(MetricsProperty, PerfectPredictionsScoreOneAndAllStayInRange, ()) {
  constexpr std::uint32_t kLabels = 8;
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto rows = *rc::gen::inRange(1, 20);
  Random random(seed);
  std::vector<LabelRow> truth, perfect, guesses;
  std::vector<float> weights;
  for (std::uint32_t l = 0; l < kLabels; ++l) {
    weights.push_back(static_cast<float>(1 + random.below(9)));
  }
  for (int r = 0; r < rows; ++r) {
    LabelRow all(kLabels);
    std::iota(all.begin(), all.end(), 0U);
    random.shuffle(std::span(all));
    guesses.emplace_back(all.begin(), all.begin() + 5);
    // At least five labels, the heaviest first: the best possible prediction.
    const auto count = static_cast<std::ptrdiff_t>(5 + random.below(4));
    random.shuffle(std::span(all));
    LabelRow labels(all.begin(), all.begin() + count);
    std::sort(labels.begin(), labels.end(),
              [&](auto a, auto b) { return weights[a] > weights[b]; });
    perfect.emplace_back(labels.begin(), labels.begin() + 5);
    std::sort(labels.begin(), labels.end());
    truth.push_back(labels);
  }
  for (const auto& [name, value] :
       evaluate_rows(predictions_of(perfect), truth, kLabels, weights)) {
    if (name != "loss") RC_ASSERT(std::abs(value - 1) < 1e-12);
  }
  for (const auto& [name, value] :
       evaluate_rows(predictions_of(guesses), truth, kLabels, weights)) {
    RC_ASSERT(value >= 0);
    RC_ASSERT(value <= 1);
  }
}

}  // namespace
}  // namespace evener
