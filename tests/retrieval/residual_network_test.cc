#include "evener/retrieval/residual_network.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "tests/retrieval/small_data.h"
#include <gtest/gtest.h>

#include "evener/retrieval/shortlist_head.h"

namespace evener {
namespace {

class Residual : public testing::Test {
 protected:
  Residual() {
    network_.features = data_.feature_count;
    network_.hidden = {24};
    network_.labels = data_.label_count;
    network_.loss = Loss::sigmoid;
    Team team(2);
    list_ = std::move(fit_retriever(data_, {}, team, {}, {})->shortlist);
    parameters_ = FloatBuffer(layout_of(network_).size);
    initialise_residual(network_, 3, parameters_.span());
    // Not zero, so that U has gradients too.
    const Segment output = layout_of(network_).layers[1].weight;
    Random random(5);
    for (std::size_t row = 0; row < output.rows; ++row) {
      for (std::size_t u = 0; u < output.cols; ++u) {
        parameters_[output.offset + row * output.stride + u] =
            static_cast<float>(0.3 * random.normal());
      }
    }
    options_.input_dropout = 0;
  }

  /// Sum over the rows of the logistic losses of their candidates, in double precision.
  double loss(std::span<const std::uint32_t> rows, const FloatBuffer& at) const {
    const Layout layout = layout_of(network_);
    const Segment& u = layout.layers[0].weight;
    const Segment& b = layout.layers[0].bias;
    const Segment& v = layout.layers[1].weight;
    double sum = 0;
    for (const std::uint32_t row : rows) {
      const RowView x = data_.features.row(row);
      std::vector<double> h(u.cols);
      for (std::size_t j = 0; j < h.size(); ++j) {
        h[j] = static_cast<double>(at[b.offset + j]);
        for (std::size_t i = 0; i < x.indices.size(); ++i) {
          h[j] += static_cast<double>(x.values[i]) *
                  static_cast<double>(at[u.offset + x.indices[i] * u.stride + j]);
        }
        h[j] = std::max(0.0, h[j]);
      }
      for (auto p = list_.offsets[row]; p < list_.offsets[row + 1]; ++p) {
        double score = static_cast<double>(list_.margins[p]);
        for (std::size_t j = 0; j < h.size(); ++j) {
          score += h[j] * static_cast<double>(at[v.offset + list_.labels[p] * v.stride + j]);
        }
        sum += std::log1p(std::exp(list_.positive[p] != 0 ? -score : score));
      }
    }
    return sum;
  }

  Dataset data_ = small_data(120, 40, 20, 21);
  Network network_;
  Shortlist list_;
  FloatBuffer parameters_;
  ResidualOptions options_;
};

TEST_F(Residual, AStepFollowsTheGradient) {
  // With a large first square the scale is the same everywhere: a step is rate / sqrt(square) times
  // the gradient.
  options_.first_square = 1e12F;
  options_.learning_rate = 1e3F;  // 1e-3 times the gradient
  options_.batch = 4;
  ResidualTrainer trainer(network_, data_, list_, options_);
  Team team(2);
  const std::vector<std::uint32_t> order{3, 50, 77, 110};
  FloatBuffer before(parameters_.size());
  std::copy_n(parameters_.data(), parameters_.size(), before.data());
  const ResidualStep done = trainer.step({0, order, 0, 1}, parameters_.span(), team);
  EXPECT_EQ(done.rows, 4U);
  EXPECT_NEAR(done.loss, loss(order, before), 1e-3);
  const auto check = [&](const Segment& segment, std::size_t row, std::size_t col) {
    const std::size_t at = segment.offset + row * segment.stride + col;
    const float kept = before[at];
    constexpr float kDelta = 1e-2F;
    before[at] = kept + kDelta;
    const double up = loss(order, before);
    before[at] = kept - kDelta;
    const double down = loss(order, before);
    before[at] = kept;
    const double gradient = (up - down) / (2 * static_cast<double>(kDelta));
    EXPECT_NEAR((kept - parameters_[at]) / 1e-3F, gradient, 2e-2 + 0.02 * std::abs(gradient))
        << segment.name << " " << row << " " << col;
  };
  const Layout layout = layout_of(network_);
  for (std::size_t col = 0; col < 24; col += 5) {
    for (std::size_t row = 0; row < 20; row += 3) check(layout.layers[1].weight, row, col);
    for (std::size_t row = 0; row < 40; row += 3) check(layout.layers[0].weight, row, col);
    check(layout.layers[0].bias, 0, col);
  }
}

TEST_F(Residual, TrainingLowersTheLossOfAllRows) {
  std::vector<std::uint32_t> all(data_.rows());
  std::iota(all.begin(), all.end(), 0U);
  initialise_residual(network_, 3, parameters_.span());
  const double before = loss(all, parameters_);
  ResidualTrainer trainer(network_, data_, list_, options_);
  Team team(2);
  for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
    const auto order = trainer.order_of(epoch);
    const double left = 1 - static_cast<double>(epoch) / 5;
    for (std::size_t at = 0; at < order.size(); at += options_.batch) {
      trainer.step({epoch, order, at, left}, parameters_.span(), team);
    }
  }
  EXPECT_LT(loss(all, parameters_), 0.95 * before);
}

TEST_F(Residual, ResultsDoNotDependOnTheNumberOfThreads) {
  FloatBuffer others(parameters_.size());
  std::copy_n(parameters_.data(), parameters_.size(), others.data());
  options_.input_dropout = 0.2F;
  ResidualTrainer a(network_, data_, list_, options_), b(network_, data_, list_, options_);
  Team one(1), three(3);
  const auto order = a.order_of(1);
  for (std::size_t at = 0; at < order.size(); at += options_.batch) {
    a.step({1, order, at, 0.8}, parameters_.span(), one);
    b.step({1, order, at, 0.8}, others.span(), three);
  }
  EXPECT_TRUE(std::equal(others.data(), others.data() + others.size(), parameters_.data()));
}

TEST_F(Residual, ContinuesExactlyFromStoredSquares) {
  ResidualTrainer a(network_, data_, list_, options_), b(network_, data_, list_, options_);
  Team team(2);
  const auto order = a.order_of(0);
  a.step({0, order, 0, 0.8}, parameters_.span(), team);
  FloatBuffer state(parameters_.size()), copy(parameters_.size());
  a.store_squares(state.span());
  std::copy_n(parameters_.data(), parameters_.size(), copy.data());
  b.load_squares(state.span());
  a.step({0, order, 32, 0.8}, parameters_.span(), team);
  b.step({0, order, 32, 0.8}, copy.span(), team);
  EXPECT_TRUE(std::equal(copy.data(), copy.data() + copy.size(), parameters_.data()));
}

TEST_F(Residual, AReplicaPredictsTheBlendOfTheParts) {
  Team team(2);
  auto fitted = fit_retriever(data_, {}, team, {}, {});
  ShortlistHead head(std::move(fitted->retriever));
  ASSERT_TRUE(train_wide(data_, fitted->shortlist, {}, team, {}, head.wide));
  const auto replica = make_shortlist_replica(network_, head, 2);
  replica->load(0, parameters_.span());
  const std::vector<std::uint32_t> rows{5, 9};
  Predictions out;
  out.k = 20;  // all labels
  replica->predict({&data_, rows}, out);
  ASSERT_EQ(out.rows(), 2U);
  Shortlist list;
  Retriever::Scratch scratch;
  FloatBuffer hidden;
  for (std::size_t i = 0; i < 2; ++i) {
    const RowView row = data_.features.row(rows[i]);
    head.retriever->candidates_of(row, scratch);
    head.retriever->append(scratch.candidates, list);
    const auto labels = list.labels_of(i);
    std::vector<float> dense(data_.feature_count), wide(labels.size()), network(labels.size());
    for (std::size_t f = 0; f < row.indices.size(); ++f) dense[row.indices[f]] = row.values[f];
    wide_scores(head.wide, labels, dense.data(), wide.data());
    residual_scores(network_, parameters_.span(), row, labels, hidden, network.data());
    const auto predicted = out.row_labels(i);
    for (std::size_t j = 0; j < labels.size(); ++j) {
      const float score = list.margins[list.offsets[i] + j] + head.wide_share * wide[j] +
                          head.network_share * network[j];
      const auto at = std::find(predicted.begin(), predicted.end(), labels[j]);
      ASSERT_NE(at, predicted.end());
      EXPECT_NEAR(out.row_scores(i)[static_cast<std::size_t>(at - predicted.begin())],
                  1 / (1 + std::exp(-score)), 1e-5);
    }
    EXPECT_TRUE(std::is_sorted(out.row_scores(i).rbegin(), out.row_scores(i).rend()));
  }
}

TEST_F(Residual, KeptCandidatesGiveTheSamePredictions) {
  Team team(2);
  auto fitted = fit_retriever(data_, {}, team, {}, {});
  ShortlistHead head(std::move(fitted->retriever));
  ASSERT_TRUE(train_wide(data_, fitted->shortlist, {}, team, {}, head.wide));
  KeptCandidates kept{&data_, std::vector<KeptCandidates::Row>(data_.rows())};
  const Dataset other = small_data(50, 40, 20, 77);
  const std::vector<std::uint32_t> rows{5, 9, 31};
  for (const float factor : {1.0F, 0.5F}) {  // the network has changed since they were found
    for (float& value : parameters_.span()) value *= factor;
    const auto plain = make_shortlist_replica(network_, head, 1);
    const auto keeping = make_shortlist_replica(network_, head, 2, &kept);
    plain->load(0, parameters_.span());
    keeping->load(0, parameters_.span());
    for (const Dataset* data : std::initializer_list<const Dataset*>{&data_, &other}) {
      Predictions expected, found;
      expected.k = found.k = 5;
      plain->predict({data, rows}, expected);
      keeping->predict({data, rows}, found);
      EXPECT_EQ(expected.labels, found.labels);
      EXPECT_EQ(expected.scores, found.scores);
      EXPECT_EQ(expected.losses, found.losses);
    }
  }
  EXPECT_TRUE(kept.rows[9].found);
  EXPECT_FALSE(kept.rows[10].found);
}

TEST_F(Residual, RowsWithoutValuesAreRowsOfOnes) {
  Team team(1);
  auto fitted = fit_retriever(data_, {}, team, {}, {});
  ShortlistHead head(std::move(fitted->retriever));
  head.wide.offsets.assign(data_.label_count + 1, 0);
  const auto replica = make_shortlist_replica(network_, head, 1);
  replica->load(0, parameters_.span());
  const std::vector<float> ones(data_.features.nonzeros(), 1.0F);
  Dataset with = data_, without = data_;
  with.features.values = ones;
  without.features.values = {};
  const std::vector<std::uint32_t> rows{5, 9};
  Predictions expected, found;
  expected.k = found.k = 5;
  replica->predict({&with, rows}, expected);
  replica->predict({&without, rows}, found);
  EXPECT_EQ(expected.labels, found.labels);
  EXPECT_EQ(expected.scores, found.scores);
}

static_assert(!std::is_copy_constructible_v<Retriever> && !std::is_move_constructible_v<Retriever>);

}  // namespace
}  // namespace evener
