#include "evener/retrieval/candidates.h"

#include <algorithm>

#include "tests/retrieval/small_data.h"
#include <gtest/gtest.h>

namespace evener {
namespace {

std::vector<float> uneven_weights(std::uint32_t count) {
  std::vector<float> weights(count);
  for (std::uint32_t f = 0; f < count; ++f) weights[f] = 0.5F + static_cast<float>(f % 5);
  return weights;
}

TEST(Neighbours, AreTheMostSimilarOtherRows) {
  const Dataset data = small_data(150, 40, 20, 4);
  Team team(2);
  const CsrArrays rows = scaled_rows(data, uneven_weights(data.feature_count), team);
  const NeighbourIndex index(rows.view(), data.feature_count, {.rescored = 10}, team);
  NeighbourIndex::Scratch scratch;
  for (std::uint32_t self = 0; self < data.rows(); ++self) {
    const RowView query = rows.view().row(self);
    std::vector<Scored> expected;
    for (std::uint32_t other = 0; other < data.rows(); ++other) {
      const RowView row = rows.view().row(other);
      double dot = 0;
      for (std::size_t i = 0; i < row.indices.size(); ++i) {
        const auto at = std::find(query.indices.begin(), query.indices.end(), row.indices[i]);
        if (at == query.indices.end()) continue;
        dot +=
            static_cast<double>(row.values[i]) *
            static_cast<double>(query.values[static_cast<std::size_t>(at - query.indices.begin())]);
      }
      if (other != self && dot > 0) expected.push_back({other, static_cast<float>(dot)});
    }
    std::sort(expected.begin(), expected.end(), kBetterFirst);
    const auto found = index.find(query, self, scratch);
    ASSERT_EQ(found.size(), std::min<std::size_t>(10, expected.size()));
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].score, expected[i].score, 1e-5);
      EXPECT_NE(found[i].id, self);
    }
  }
}

TEST(Neighbours, DoNotDependOnEarlierQueries) {
  const Dataset data = small_data(300, 400, 20, 5);  // few shared features: lists of touched rows
  Team team(2);
  const CsrArrays rows = scaled_rows(data, std::vector<float>(data.feature_count, 1.0F), team);
  const NeighbourIndex index(rows.view(), data.feature_count, {.rescored = 5}, team);
  NeighbourIndex::Scratch used;
  for (std::uint32_t row = 0; row < data.rows(); ++row) {
    NeighbourIndex::Scratch fresh;
    const auto a = index.find(rows.view().row(row), row, used);
    const auto b = index.find(rows.view().row(row), row, fresh);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].id, b[i].id);
      EXPECT_EQ(a[i].score, b[i].score);
    }
  }
}

// The claim that everything behind it rests on: a training row is described as a new row would be.
TEST(Candidates, OfARowLeftOutAreThoseOfDataWithoutIt) {
  const Dataset data = small_data(80, 40, 20, 6);
  const std::vector<float> weights = uneven_weights(data.feature_count);
  Team team(2);
  const Retriever whole(retrieval_model(data, weights, team), team);
  Retriever::Scratch left_out, fresh;
  for (std::uint32_t row = 0; row < data.rows(); ++row) {
    const Retriever reduced(retrieval_model(without_row(data, row), weights, team), team);
    whole.candidates_left_out(data.features.row(row), row, left_out);
    reduced.candidates_of(data.features.row(row), fresh);
    ASSERT_EQ(left_out.candidates.labels, fresh.candidates.labels) << row;
    for (std::size_t i = 0; i < fresh.candidates.labels.size(); ++i) {
      for (std::size_t f = 0; f < kPairFeatures; ++f) {
        EXPECT_NEAR(left_out.candidates.features[i][f], fresh.candidates.features[i][f], 2e-3)
            << "row " << row << ", label " << fresh.candidates.labels[i] << ", feature " << f;
      }
    }
  }
}

TEST(Candidates, OfTrainingRowsAreMostOfTheirLabels) {
  const Dataset data = small_data(600, 60, 30, 7);
  Team team(2);
  const auto fitted = fit_retriever(data, {}, team, {}, {});
  ASSERT_TRUE(fitted);
  const Shortlist& list = fitted->shortlist;
  ASSERT_EQ(list.rows(), data.rows());
  std::size_t found = 0;
  double positive_margin = 0, negative_margin = 0;
  for (std::size_t p = 0; p < list.pairs(); ++p) {
    found += list.positive[p];
    (list.positive[p] != 0 ? positive_margin : negative_margin) +=
        static_cast<double>(list.margins[p]);
  }
  EXPECT_GT(static_cast<double>(found), 0.95 * static_cast<double>(data.labels.nonzeros()));
  EXPECT_GT(positive_margin / static_cast<double>(found),
            negative_margin / static_cast<double>(list.pairs() - found) + 2);
}

TEST(Candidates, DoNotDependOnTheNumberOfThreads) {
  const Dataset data = small_data(300, 60, 30, 8);
  Team one(1), three(3);
  const auto a = fit_retriever(data, {}, one, {}, {});
  const auto b = fit_retriever(data, {}, three, {}, {});
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->shortlist.offsets, b->shortlist.offsets);
  EXPECT_EQ(a->shortlist.labels, b->shortlist.labels);
  EXPECT_EQ(a->shortlist.margins, b->shortlist.margins);
}

TEST(Candidates, EndWhereTheCallerStopsThem) {
  const Dataset data = small_data(300, 60, 30, 9);
  Team team(2);
  int left = 3;
  EXPECT_FALSE(fit_retriever(data, {}, team, [&] { return --left < 0; }, {}));
}

}  // namespace
}  // namespace evener
