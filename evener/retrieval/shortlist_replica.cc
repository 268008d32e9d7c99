#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "evener/core/error.h"
#include "evener/core/team.h"
#include "evener/retrieval/residual_network.h"
#include "evener/retrieval/shortlist_head.h"

namespace evener {

namespace {

float log_loss(float score, bool positive) {
  const float signed_score = positive ? -score : score;
  return std::max(signed_score, 0.0F) + std::log1p(std::exp(-std::abs(signed_score)));
}

/// The result for one row.
struct RowResult {
  std::vector<std::uint32_t> labels;
  std::vector<float> scores;
  float loss = 0;
};

class ShortlistReplica : public Replica {
 public:
  ShortlistReplica(const Network& network, const ShortlistHead& head, int threads)
      : network_(network),
        head_(head),
        team_(threads),
        parameters_(layout_of(network).size),
        own_(static_cast<std::size_t>(threads)) {}

  using Replica::step;
  double step(const Batch& /*batch*/, const Step& /*step*/, const NextStep* /*next*/) override {
    throw Error("a shortlist replica only predicts");
  }

  void predict(const Batch& batch, Predictions& out) override {
    std::vector<RowResult> results(batch.rows.size());
    constexpr std::size_t kChunk = 8;
    for_chunks(team_, batch.rows.size(), kChunk, {},
               [&](std::size_t begin, std::size_t end, int member) {
                 for (std::size_t i = begin; i < end; ++i) {
                   predict_row(*batch.data, batch.rows[i], out.k,
                               own_[static_cast<std::size_t>(member)], results[i]);
                 }
               });
    for (const RowResult& result : results) {
      out.labels.insert(out.labels.end(), result.labels.begin(), result.labels.end());
      out.scores.insert(out.scores.end(), result.scores.begin(), result.scores.end());
      out.losses.push_back(result.loss);
    }
  }

  int vectors() const override { return 1; }
  FloatBuffer take(int /*vector*/) override { return std::move(parameters_); }
  void give(int /*vector*/, FloatBuffer values) override { parameters_ = std::move(values); }

 private:
  struct Own {
    Retriever::Scratch scratch;
    Shortlist list;
    std::vector<float> dense;  // by feature; zero between rows
    std::vector<float> wide, network;
    FloatBuffer hidden;
    BestOf best;
  };

  /// Sets own.wide to the blended scores of own.list's labels.
  void score(const RowView& row, Own& own) const {
    const auto labels = std::span<const std::uint32_t>(own.list.labels);
    own.wide.resize(labels.size());
    own.network.resize(labels.size());
    own.dense.resize(network_.features, 0.0F);
    for (std::size_t i = 0; i < row.indices.size(); ++i) own.dense[row.indices[i]] = row.values[i];
    wide_scores(head_.wide, labels, own.dense.data(), own.wide.data());
    for (const std::uint32_t feature : row.indices) own.dense[feature] = 0;
    residual_scores(network_, parameters_.span(), row, labels, own.hidden, own.network.data());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      own.wide[i] = own.list.margins[i] + head_.wide_share * own.wide[i] +
                    head_.network_share * own.network[i];
    }
  }

  void predict_row(const Dataset& data, std::uint32_t number, std::uint32_t k, Own& own,
                   RowResult& result) const {
    const RowView row = data.features.row(number);
    const auto truth = data.labels.row(number).indices;
    own.list = {};
    head_.retriever->candidates_of(row, own.scratch);
    head_.retriever->append(own.scratch.candidates, own.list);
    score(row, own);
    own.best.begin(k);
    std::size_t found = 0;
    for (std::size_t i = 0; i < own.wide.size(); ++i) {
      const bool positive = std::binary_search(truth.begin(), truth.end(), own.list.labels[i]);
      found += positive ? 1 : 0;
      result.loss += log_loss(own.wide[i], positive);
      own.best.add(own.list.labels[i], own.wide[i]);
    }
    result.loss += static_cast<float>(truth.size() - found) * log_loss(kAbsentLogOdds, true);
    for (const Scored& item : own.best.finish_sorted()) {
      result.labels.push_back(item.id);
      result.scores.push_back(1 / (1 + std::exp(-item.score)));
    }
    fill_up(k, result);
  }

  /// Fewer candidates than k: the first other labels follow, with score 0.
  static void fill_up(std::uint32_t k, RowResult& result) {
    for (std::uint32_t label = 0; result.labels.size() < k; ++label) {
      if (std::find(result.labels.begin(), result.labels.end(), label) != result.labels.end()) {
        continue;
      }
      result.labels.push_back(label);
      result.scores.push_back(0);
    }
  }

  Network network_;
  const ShortlistHead& head_;
  Team team_;
  FloatBuffer parameters_;
  std::vector<Own> own_;
};

}  // namespace

std::unique_ptr<Replica> make_shortlist_replica(const Network& network, const ShortlistHead& head,
                                                int threads) {
  return std::make_unique<ShortlistReplica>(network, head, threads);
}

}  // namespace evener
