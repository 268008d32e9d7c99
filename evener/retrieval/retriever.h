// Finds candidate labels for rows: neighbours, co-occurrence and the offset, fitted to training
// rows. A fitted retriever holds the training rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "evener/data/dataset.h"
#include "evener/retrieval/candidates.h"
#include "evener/retrieval/cooccurrence.h"
#include "evener/retrieval/neighbours.h"
#include "evener/retrieval/offset_network.h"
#include "evener/retrieval/parallel.h"
#include "evener/retrieval/shortlist.h"

namespace evener {

struct RetrievalOptions {
  NeighbourOptions neighbours;
  CandidateOptions candidates;
  CooccurrenceOptions cooccurrence;
  OffsetOptions offset;
  std::uint32_t offset_pairs = 80'000;  // about so many pairs train the offset
  std::uint32_t trial_rows = 400;       // rows that choose the similarity's exponent
  // For ablations.
  bool weighs_features = true;  // false: all features weigh the same in the similarity
  bool fits_offset = true;      // false: the margin is the logarithm of the neighbours' share
  /// Candidates below this margin (log-odds) are dropped.
  float least_margin = -30;
};

/// Everything that a retriever needs, as plain arrays.
struct RetrievalModel {
  std::uint32_t feature_count = 0, label_count = 0;
  NeighbourOptions neighbours;
  CandidateOptions candidates;
  float least_margin = -30;
  std::vector<float> feature_weights;  // of the similarity
  CsrArrays rows;                      // scaled by them
  CsrArrays labels;
  Cooccurrence cooccurrence;
  OffsetNetwork offset;
};

/// Called with the name of a stage and the share of it that is done, on the calling thread.
using StageProgress = std::function<void(const char* stage, double share)>;

class Retriever {
 public:
  /// Builds the index of the model's rows.
  Retriever(RetrievalModel model, Team& team);
  /// With the postings of its index.
  Retriever(RetrievalModel model, SparseColumns postings);
  Retriever(const Retriever&) = delete;  // the index refers to the model
  Retriever& operator=(const Retriever&) = delete;

  const RetrievalModel& model() const { return model_; }
  void set_offset(const OffsetNetwork& offset, float least_margin) {
    model_.offset = offset;
    model_.least_margin = least_margin;
  }

  struct Scratch {
    NeighbourIndex::Scratch neighbours;
    CandidateScratch candidates;
    std::vector<float> scaled;
  };
  /// Candidates of a new row.
  void candidates_of(const RowView& row, Scratch& scratch) const;
  /// Candidates of row `index` of the training rows, whose features are `row`, as if it were new.
  void candidates_left_out(const RowView& row, std::uint32_t index, Scratch& scratch) const;

  /// Appends a row's candidates to the shortlist.
  void append(const CandidateScratch& candidates, Shortlist& out) const;

 private:
  RetrievalModel model_;
  NeighbourIndex index_;
};

struct FittedRetriever {
  std::unique_ptr<Retriever> retriever;
  Shortlist shortlist;  // of the training rows, each as if it were new
  float exponent = 0;   // of the feature weights
};

/// The shortlist of the training rows, each as if it were new. Nothing if `stop` ended it.
std::optional<Shortlist> left_out_shortlist(const Dataset& data, const Retriever& retriever,
                                            Team& team, const Stop& stop,
                                            const StageProgress& progress);

/// Trains the offset, and makes the shortlist of the training rows. False if `stop` ended it.
bool fit_offset(const Dataset& data, const RetrievalOptions& options, Team& team, const Stop& stop,
                const StageProgress& progress, FittedRetriever& fitted);

/// Nothing if `stop` ended it.
std::optional<FittedRetriever> fit_retriever(const Dataset& data, const RetrievalOptions& options,
                                             Team& team, const Stop& stop,
                                             const StageProgress& progress);

}  // namespace evener
