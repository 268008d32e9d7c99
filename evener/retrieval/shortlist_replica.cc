#include <numeric>
#include <utility>
#include <vector>

#include "evener/core/error.h"
#include "evener/core/team.h"
#include "evener/retrieval/dense_row.h"
#include "evener/retrieval/shortlist_head.h"

namespace evener {

namespace {

/// Some rows of a data set, with their candidates.
class ListedRows {
 public:
  void add(const RowView& features, std::span<const std::uint32_t> labels,
           const KeptCandidates::Row& candidates) {
    append(features.indices, features.values, features_);
    append(labels, {}, labels_);
    append(candidates.labels, candidates.scores, candidates_);
  }
  Dataset view(const Dataset& of, float share) const {
    Dataset data;
    data.features = features_.view();
    data.labels = labels_.view();
    data.feature_count = of.feature_count;
    data.label_count = of.label_count;
    data.candidates = candidates_.view();
    data.candidate_share = share;
    return data;
  }

 private:
  static void append(std::span<const std::uint32_t> indices, std::span<const float> values,
                     CsrArrays& to) {
    to.indices.insert(to.indices.end(), indices.begin(), indices.end());
    to.values.insert(to.values.end(), values.begin(), values.end());
    to.offsets.push_back(to.indices.size());
  }

  CsrArrays features_, labels_, candidates_;
};

class ShortlistReplica : public Replica {
 public:
  ShortlistReplica(Replica& network, const ShortlistHead& head, int threads, KeptCandidates* kept)
      : network_(network),
        head_(head),
        kept_(kept),
        team_(threads),
        own_(static_cast<std::size_t>(threads)) {}

  using Replica::step;
  double step(const Batch& /*batch*/, const Step& /*step*/, const NextStep* /*next*/) override {
    throw Error("a shortlist replica only predicts");
  }

  void predict(const Batch& batch, Predictions& out) override {
    const Dataset& data = *batch.data;
    const bool keeps = kept_ != nullptr && kept_->data == &data;
    std::vector<KeptCandidates::Row> fresh(keeps ? 0 : batch.rows.size());
    const auto candidates_of = [&](std::size_t i) -> KeptCandidates::Row& {
      return keeps ? kept_->rows[batch.rows[i]] : fresh[i];
    };
    constexpr std::size_t kChunk = 8;
    for_chunks(team_, batch.rows.size(), kChunk, {},
               [&](std::size_t begin, std::size_t end, int member) {
                 for (std::size_t i = begin; i < end; ++i) {
                   KeptCandidates::Row& row = candidates_of(i);
                   if (!row.found)
                     find(data, batch.rows[i], own_[static_cast<std::size_t>(member)], row);
                 }
               });
    ListedRows rows;
    std::vector<float> ones;
    for (std::size_t i = 0; i < batch.rows.size(); ++i) {
      rows.add(with_values(data.features.row(batch.rows[i]), ones),
               data.labels.row(batch.rows[i]).indices, candidates_of(i));
    }
    std::vector<std::uint32_t> all(batch.rows.size());
    std::iota(all.begin(), all.end(), 0U);
    const Dataset listed = rows.view(data, head_.network_share);
    network_.predict({&listed, all}, out);
  }

  int vectors() const override { return network_.vectors(); }
  FloatBuffer take(int vector) override { return network_.take(vector); }
  void give(int vector, FloatBuffer values) override { network_.give(vector, std::move(values)); }

 private:
  struct Own {
    Retriever::Scratch scratch;
    Shortlist list;
    std::vector<float> ones;
    std::vector<float> dense;  // by feature; zero between rows
    std::vector<float> wide;
  };

  /// A row without values is a row of ones.
  static RowView with_values(RowView row, std::vector<float>& ones) {
    if (!row.values.empty()) return row;
    ones.assign(row.indices.size(), 1.0F);
    row.values = ones;
    return row;
  }

  /// Candidates with the part of their score that training does not change.
  void find(const Dataset& data, std::uint32_t number, Own& own, KeptCandidates::Row& out) const {
    const RowView row = with_values(data.features.row(number), own.ones);
    own.list.offsets.assign(1, 0);
    own.list.labels.clear();
    own.list.margins.clear();
    head_.retriever->candidates_of(row, own.scratch);
    head_.retriever->append(own.scratch.candidates, own.list);
    const std::span<const std::uint32_t> labels(own.list.labels);
    own.wide.resize(labels.size());
    const DenseRow dense(row, head_.retriever->model().feature_count, own.dense);
    wide_scores(head_.wide, labels, dense.data(), own.wide.data());
    out.labels.assign(labels.begin(), labels.end());
    out.scores.resize(labels.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      out.scores[i] = own.list.margins[i] + head_.wide_share * own.wide[i];
    }
    out.found = true;
  }

  Replica& network_;
  const ShortlistHead& head_;
  KeptCandidates* kept_;
  Team team_;
  std::vector<Own> own_;
};

}  // namespace

std::unique_ptr<Replica> make_shortlist_replica(Replica& network, const ShortlistHead& head,
                                                int threads, KeptCandidates* kept) {
  return std::make_unique<ShortlistReplica>(network, head, threads, kept);
}

}  // namespace evener
