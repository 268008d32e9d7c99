#include <algorithm>
#include <utility>
#include <vector>

#include "evener/core/error.h"
#include "evener/core/team.h"
#include "evener/retrieval/dense_row.h"
#include "evener/retrieval/logistic.h"
#include "evener/retrieval/residual_network.h"
#include "evener/retrieval/shortlist_head.h"

namespace evener {

namespace {

/// The result for one row.
struct RowResult {
  std::vector<std::uint32_t> labels;
  std::vector<float> scores;
  float loss = 0;
};

class ShortlistReplica : public Replica {
 public:
  ShortlistReplica(const Network& network, const ShortlistHead& head, int threads,
                   KeptCandidates* kept)
      : network_(network),
        head_(head),
        kept_(kept),
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
    std::vector<float> ones;   // the values of a row without values
    std::vector<float> dense;  // by feature; zero between rows
    std::vector<float> wide, network;
    FloatBuffer hidden;
    KeptCandidates::Row candidates;
    BestOf best;
  };

  /// Candidates with the part of their score that training does not change.
  void find(const RowView& row, Own& own, KeptCandidates::Row& out) const {
    own.list.offsets.assign(1, 0);
    own.list.labels.clear();
    own.list.margins.clear();
    head_.retriever->candidates_of(row, own.scratch);
    head_.retriever->append(own.scratch.candidates, own.list);
    const std::span<const std::uint32_t> labels(own.list.labels);
    own.wide.resize(labels.size());
    const DenseRow dense(row, network_.features, own.dense);
    wide_scores(head_.wide, labels, dense.data(), own.wide.data());
    out.labels.assign(labels.begin(), labels.end());
    out.scores.resize(labels.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      out.scores[i] = own.list.margins[i] + head_.wide_share * own.wide[i];
    }
    out.found = true;
  }

  void predict_row(const Dataset& data, std::uint32_t number, std::uint32_t k, Own& own,
                   RowResult& result) const {
    RowView row = data.features.row(number);
    if (row.values.empty()) {
      own.ones.assign(row.indices.size(), 1.0F);
      row.values = own.ones;
    }
    const auto truth = data.labels.row(number).indices;
    const bool keeps = kept_ != nullptr && kept_->data == &data;
    KeptCandidates::Row& candidates = keeps ? kept_->rows[number] : own.candidates;
    if (!keeps || !candidates.found) find(row, own, candidates);
    const std::vector<std::uint32_t>& labels = candidates.labels;
    own.network.assign(labels.size(), 0.0F);
    if (head_.network_share != 0) {
      residual_scores(network_, parameters_.span(), row, labels, own.hidden, own.network.data());
    }
    own.best.begin(k);
    std::size_t found = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const float score = candidates.scores[i] + head_.network_share * own.network[i];
      const bool positive = std::binary_search(truth.begin(), truth.end(), labels[i]);
      found += positive ? 1 : 0;
      result.loss += log_loss(score, positive);
      own.best.add(labels[i], score);
    }
    result.loss += static_cast<float>(truth.size() - found) * log_loss(kAbsentLogOdds, true);
    for (const Scored& item : own.best.finish_sorted()) {
      result.labels.push_back(item.id);
      result.scores.push_back(sigmoid(item.score));
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
  KeptCandidates* kept_;
  Team team_;
  FloatBuffer parameters_;
  std::vector<Own> own_;
};

}  // namespace

std::unique_ptr<Replica> make_shortlist_replica(const Network& network, const ShortlistHead& head,
                                                int threads, KeptCandidates* kept) {
  return std::make_unique<ShortlistReplica>(network, head, threads, kept);
}

}  // namespace evener
