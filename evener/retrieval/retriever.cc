#include "evener/retrieval/retriever.h"

#include <utility>

namespace evener {

namespace {

CsrView labels_of(const RetrievalModel& model) {
  return {model.labels.offsets, model.labels.indices, {}};
}

}  // namespace

Retriever::Retriever(RetrievalModel model, Team& team)
    : model_(std::move(model)),
      index_(model_.rows.view(), model_.feature_count, model_.neighbours, team) {}

Retriever::Retriever(RetrievalModel model, SparseColumns postings)
    : model_(std::move(model)),
      index_(model_.rows.view(), std::move(postings), model_.neighbours) {}

void Retriever::candidates_of(const RowView& row, Scratch& scratch) const {
  scratch.scaled.resize(row.indices.size());
  scale_row(row, model_.feature_weights, scratch.scaled.data());
  const auto neighbours = index_.find({row.indices, scratch.scaled}, kNoRow, scratch.neighbours);
  find_candidates(row, neighbours, labels_of(model_), model_.cooccurrence, model_.candidates,
                  std::nullopt, scratch.candidates);
}

void Retriever::candidates_left_out(const RowView& row, std::uint32_t index,
                                    Scratch& scratch) const {
  const RowView scaled = model_.rows.view().row(index);
  const auto neighbours = index_.find(scaled, index, scratch.neighbours);
  const auto own = labels_of(model_).row(index).indices;
  find_candidates(row, neighbours, labels_of(model_), model_.cooccurrence, model_.candidates, own,
                  scratch.candidates);
}

void Retriever::append(const CandidateScratch& candidates, Shortlist& out) const {
  for (std::size_t i = 0; i < candidates.labels.size(); ++i) {
    const float margin = offset_of(model_.offset, candidates.features[i]);
    if (margin < model_.least_margin) continue;
    out.labels.push_back(candidates.labels[i]);
    out.margins.push_back(margin);
  }
  out.offsets.push_back(out.labels.size());
}

}  // namespace evener
