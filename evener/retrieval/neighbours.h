// The training rows that are most similar to a row, by an inverted index.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evener/data/dataset.h"
#include "evener/retrieval/best_of.h"
#include "evener/retrieval/columns.h"

namespace evener {

struct NeighbourOptions {
  std::uint32_t query_entries = 64;         // the largest entries of a row that are looked up
  std::uint32_t postings_a_feature = 1000;  // the largest entries of a feature that are indexed
  std::uint32_t rescored = 100;             // neighbours; their similarity is that of whole rows
};

inline constexpr std::uint32_t kNoRow = UINT32_MAX;

/// Rows scaled by feature weights, to unit length.
CsrArrays scaled_rows(const CsrView& rows, std::span<const float> feature_weights);
/// One such row.
void scale_row(const RowView& row, std::span<const float> feature_weights,
               std::vector<float>& values);

class NeighbourIndex {
 public:
  /// `rows` (scaled) must outlive the index.
  NeighbourIndex(const CsrView& rows, std::size_t feature_count, const NeighbourOptions& options);

  struct Scratch {
    std::vector<float> sums;   // by indexed row; zero between queries
    std::vector<float> query;  // by feature; zero between queries
    std::vector<std::uint32_t> touched;
    BestOf best_entries, best_rows;
    std::vector<Scored> found;
  };

  /// The neighbours of a scaled row, best first, without the row `self` of the index.
  std::span<const Scored> find(const RowView& row, std::uint32_t self, Scratch& scratch) const;

 private:
  CsrView rows_;
  NeighbourOptions options_;
  SparseColumns postings_;
};

}  // namespace evener
