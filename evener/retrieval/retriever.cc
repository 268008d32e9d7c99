#include "evener/retrieval/retriever.h"

#include <utility>

namespace evener {

namespace {

CsrView labels_of(const RetrievalModel& model) {
  return {model.labels.offsets, model.labels.indices, {}};
}

}  // namespace

Shortlist joined(std::vector<Shortlist>& parts) {
  Shortlist all;
  std::size_t rows = 0, pairs = 0;
  for (const Shortlist& part : parts) {
    rows += part.rows();
    pairs += part.pairs();
  }
  all.offsets.reserve(rows + 1);
  all.labels.reserve(pairs);
  all.margins.reserve(pairs);
  for (Shortlist& part : parts) {
    const std::uint64_t before = all.pairs();
    for (std::size_t row = 0; row < part.rows(); ++row) {
      all.offsets.push_back(before + part.offsets[row + 1]);
    }
    all.labels.insert(all.labels.end(), part.labels.begin(), part.labels.end());
    all.margins.insert(all.margins.end(), part.margins.begin(), part.margins.end());
    all.positive.insert(all.positive.end(), part.positive.begin(), part.positive.end());
    part = {};
  }
  return all;
}

Retriever::Retriever(RetrievalModel model)
    : model_(std::move(model)),
      index_(model_.rows.view(), model_.feature_count, model_.neighbours) {}

void Retriever::candidates_of(const RowView& row, Scratch& scratch) const {
  scale_row(row, model_.feature_weights, scratch.scaled);
  const auto neighbours = index_.find({row.indices, scratch.scaled}, kNoRow, scratch.neighbours);
  find_candidates(row, neighbours, labels_of(model_), model_.cooccurrence, model_.candidates,
                  nullptr, scratch.candidates);
}

void Retriever::candidates_left_out(const RowView& row, std::uint32_t index,
                                    Scratch& scratch) const {
  const RowView scaled = model_.rows.view().row(index);
  const auto neighbours = index_.find(scaled, index, scratch.neighbours);
  const auto own = labels_of(model_).row(index).indices;
  find_candidates(row, neighbours, labels_of(model_), model_.cooccurrence, model_.candidates, &own,
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

std::optional<Shortlist> Retriever::shortlist(const CsrView& rows,
                                              std::span<const std::uint32_t> which, Team& team,
                                              const Stop& stop) const {
  constexpr std::size_t kChunk = 16;
  std::vector<Shortlist> parts((which.size() + kChunk - 1) / kChunk);
  std::vector<Scratch> scratch(static_cast<std::size_t>(team.size()));
  const bool whole = for_chunks(team, which.size(), kChunk, stop,
                                [&](std::size_t begin, std::size_t end, int member) {
                                  Scratch& own = scratch[static_cast<std::size_t>(member)];
                                  for (std::size_t i = begin; i < end; ++i) {
                                    candidates_of(rows.row(which[i]), own);
                                    append(own.candidates, parts[begin / kChunk]);
                                  }
                                });
  if (!whole) return std::nullopt;
  return joined(parts);
}

}  // namespace evener
