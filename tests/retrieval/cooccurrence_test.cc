#include "evener/retrieval/cooccurrence.h"

#include <cmath>
#include <map>

#include "tests/retrieval/small_data.h"
#include <gtest/gtest.h>

namespace evener {
namespace {

FeatureLabels statistics_of(const Dataset& data, const CooccurrenceOptions& options, int threads) {
  Team team(threads);
  FeatureLabels statistics;
  EXPECT_TRUE(count_labels(columns_of(data.features, data.feature_count, team), data.labels,
                           data.label_count, options, team, {}, statistics));
  return statistics;
}

TEST(Cooccurrence, IsTheSumOverRowsWithFeatureAndLabel) {
  const Dataset data = small_data(200, 30, 20, 1);
  const Cooccurrence co = statistics_of(data, {}, 2).cooccurrence;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> sums;
  std::vector<double> feature_sums(data.feature_count);
  for (std::size_t row = 0; row < data.rows(); ++row) {
    const RowView x = data.features.row(row);
    for (std::size_t i = 0; i < x.indices.size(); ++i) {
      feature_sums[x.indices[i]] += static_cast<double>(x.values[i]);
      for (const auto label : data.labels.row(row).indices) {
        sums[{x.indices[i], label}] += static_cast<double>(x.values[i]);
      }
    }
  }
  std::size_t entries = 0;
  for (std::uint32_t f = 0; f < data.feature_count; ++f) {
    EXPECT_NEAR(co.feature_sums[f], feature_sums[f], 1e-4);
    const auto labels = co.labels_of(f);
    for (std::size_t i = 0; i < labels.size(); ++i, ++entries) {
      EXPECT_NEAR(co.sums_of(f)[i], sums.at({f, labels[i]}), 1e-4);
      if (i > 0) {
        EXPECT_GE(co.sums_of(f)[i - 1], co.sums_of(f)[i]);
      }
    }
  }
  EXPECT_EQ(entries, sums.size());
}

TEST(Cooccurrence, KeepsTheLargestSumsOfAFeature) {
  const Dataset data = small_data(200, 30, 20, 2);
  const Cooccurrence all = statistics_of(data, {}, 1).cooccurrence;
  const Cooccurrence few = statistics_of(data, {.labels_per_feature = 3}, 1).cooccurrence;
  for (std::uint32_t f = 0; f < data.feature_count; ++f) {
    ASSERT_EQ(few.labels_of(f).size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(few.labels_of(f)[i], all.labels_of(f)[i]);
  }
}

TEST(Cooccurrence, AgreementIsTheLabelOverlapOfPairsOfRows) {
  const Dataset data = small_data(60, 12, 8, 3);
  const std::vector<float> agreement = statistics_of(data, {.pseudo_pairs = 0}, 2).agreement;
  std::vector<double> idf(data.label_count), count(data.label_count);
  for (const auto label : data.labels.indices) count[label] += 1;
  double mass = 0;
  for (std::size_t l = 0; l < idf.size(); ++l) {
    idf[l] = std::log(1 + 60 / std::max(1.0, count[l]));
    mass += idf[l] * count[l] / 60;
  }
  const auto has = [](std::span<const std::uint32_t> row, std::uint32_t index) {
    return std::binary_search(row.begin(), row.end(), index);
  };
  for (std::uint32_t f = 0; f < data.feature_count; ++f) {
    double overlap = 0, pairs = 0;
    for (std::size_t a = 0; a < data.rows(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (!has(data.features.row(a).indices, f) || !has(data.features.row(b).indices, f))
          continue;
        pairs += 1;
        for (const auto label : data.labels.row(a).indices) {
          if (has(data.labels.row(b).indices, label)) overlap += idf[label];
        }
      }
    }
    if (pairs > 0) {
      EXPECT_NEAR(agreement[f], overlap / pairs / mass, 1e-5) << f;
    }
  }
}

}  // namespace
}  // namespace evener
