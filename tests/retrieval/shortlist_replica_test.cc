#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tests/retrieval/small_data.h"
#include <gtest/gtest.h>

#include "evener/device/cpu/listed_replica.h"
#include "evener/nn/initialise.h"
#include "evener/nn/logistic.h"
#include "evener/retrieval/shortlist_head.h"

namespace evener {
namespace {

class ShortlistReplica : public testing::Test {
 protected:
  ShortlistReplica() : head_(fitted()) {
    network_.features = data_.feature_count;
    network_.hidden = {24};
    network_.labels = data_.label_count;
    network_.loss = Loss::sigmoid;
    network_.output = Output::listed;
    parameters_.resize(layout_of(network_).size);
    initialise(network_, 3, parameters_);
    const Segment output = layout_of(network_).layers[1].weight;
    Random random(5);
    for (std::size_t row = 0; row < output.rows; ++row) {
      for (std::size_t u = 0; u < output.cols; ++u) {
        parameters_[output.offset + row * output.stride + u] =
            static_cast<float>(0.3 * random.normal());
      }
    }
  }

  ShortlistHead fitted() {
    Team team(2);
    auto fitted = fit_retriever(data_, {}, team, {}, {});
    ShortlistHead head(std::move(fitted->retriever));
    if (!train_wide(data_, fitted->shortlist, {}, team, {}, head.wide)) throw Error("stopped");
    return head;
  }

  /// A replica of the network with the parameters.
  std::unique_ptr<Replica> network_replica() const {
    auto replica = cpu::make_listed_replica(network_, {}, 2);
    replica->load(0, parameters_);
    return replica;
  }

  /// v . relu(U x + b)
  double network_score(const RowView& row, std::uint32_t label) const {
    const Layout layout = layout_of(network_);
    const Segment& input = layout.layers[0].weight;
    const Segment& output = layout.layers[1].weight;
    double score = 0;
    for (std::size_t u = 0; u < input.cols; ++u) {
      double sum = static_cast<double>(parameters_[layout.layers[0].bias.offset + u]);
      for (std::size_t i = 0; i < row.indices.size(); ++i) {
        sum += static_cast<double>(row.values[i]) *
               static_cast<double>(parameters_[input.offset + row.indices[i] * input.stride + u]);
      }
      score += std::max(0.0, sum) *
               static_cast<double>(parameters_[output.offset + label * output.stride + u]);
    }
    return score;
  }

  Dataset data_ = small_data(120, 40, 20, 21);
  Network network_;
  std::vector<float> parameters_;
  ShortlistHead head_;
};

TEST_F(ShortlistReplica, PredictsTheBlendOfTheParts) {
  const auto network = network_replica();
  const auto replica = make_shortlist_replica(*network, head_, 2);
  const std::vector<std::uint32_t> rows{5, 9};
  Predictions out;
  out.k = 20;  // all labels
  replica->predict({&data_, rows}, out);
  ASSERT_EQ(out.rows(), 2U);
  Shortlist list;
  Retriever::Scratch scratch;
  for (std::size_t i = 0; i < 2; ++i) {
    const RowView row = data_.features.row(rows[i]);
    head_.retriever->candidates_of(row, scratch);
    head_.retriever->append(scratch.candidates, list);
    const auto labels = list.labels_of(i);
    std::vector<float> dense(data_.feature_count), wide(labels.size());
    for (std::size_t f = 0; f < row.indices.size(); ++f) dense[row.indices[f]] = row.values[f];
    wide_scores(head_.wide, labels, dense.data(), wide.data());
    const auto predicted = out.row_labels(i);
    for (std::size_t j = 0; j < labels.size(); ++j) {
      const double score =
          static_cast<double>(list.margins[list.offsets[i] + j] + head_.wide_share * wide[j]) +
          static_cast<double>(head_.network_share) * network_score(row, labels[j]);
      const auto at = std::find(predicted.begin(), predicted.end(), labels[j]);
      ASSERT_NE(at, predicted.end());
      EXPECT_NEAR(out.row_scores(i)[static_cast<std::size_t>(at - predicted.begin())],
                  1 / (1 + std::exp(-score)), 1e-5);
    }
    EXPECT_TRUE(std::is_sorted(out.row_scores(i).rbegin(), out.row_scores(i).rend()));
  }
}

TEST_F(ShortlistReplica, KeptCandidatesGiveTheSamePredictions) {
  KeptCandidates kept{&data_, std::vector<KeptCandidates::Row>(data_.rows())};
  const Dataset other = small_data(50, 40, 20, 77);
  const std::vector<std::uint32_t> rows{5, 9, 31};
  for (const float factor : {1.0F, 0.5F}) {  // the network has changed since they were found
    for (float& value : parameters_) value *= factor;
    const auto network = network_replica();
    const auto plain = make_shortlist_replica(*network, head_, 1);
    const auto keeping = make_shortlist_replica(*network, head_, 2, &kept);
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

TEST_F(ShortlistReplica, RowsWithoutValuesAreRowsOfOnes) {
  const auto network = network_replica();
  const auto replica = make_shortlist_replica(*network, head_, 1);
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
