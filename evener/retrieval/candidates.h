// The candidate labels of a row, with what retrieval knows about each (row, label) pair.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "evener/core/best_of.h"
#include "evener/data/dataset.h"
#include "evener/retrieval/cooccurrence.h"

namespace evener {

struct CandidateOptions {
  std::uint32_t by_neighbours = 70;    // the best by shares of the neighbours
  std::uint32_t by_cooccurrence = 40;  // the best by the labels of the row's features
};

inline constexpr std::size_t kPairFeatures = 11;
inline constexpr std::size_t kShareFeature = 0;  // the logarithm of the neighbours' share
using PairFeatures = std::array<float, kPairFeatures>;

struct CandidateScratch {
  struct Share {
    float sum = 0, cubes = 0, best20 = 0, largest = 0;
  };
  /// Sums over the row's features f with T[f][l]: T and the row's own part of it, each weighted by
  /// x / c (rate) and by x (total).
  struct Evidence {
    float rate = 0, own_rate = 0, total = 0, own_total = 0;
  };
  std::vector<Share> shares;       // by label; zero between rows
  std::vector<Evidence> evidence;  // by label; zero between rows
  std::vector<std::uint32_t> shared, evident;
  BestOf by_share, by_rate;

  // The result, in ascending order of labels.
  std::vector<std::uint32_t> labels;
  std::vector<PairFeatures> features;
};

/// Fills scratch.labels and scratch.features. `neighbours`, best first, are rows of `labels`.
/// `own_labels`: the labels of a training row, whose own contribution to the statistics is taken
/// out (leave-one-out); none for a row that is not part of them.
void find_candidates(const RowView& row, std::span<const Scored> neighbours, const CsrView& labels,
                     const Cooccurrence& cooccurrence, const CandidateOptions& options,
                     std::optional<std::span<const std::uint32_t>> own_labels,
                     CandidateScratch& scratch);

}  // namespace evener
