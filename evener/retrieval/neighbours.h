// The training rows that are most similar to a row, by an inverted index.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "evener/core/best_of.h"
#include "evener/data/dataset.h"
#include "evener/retrieval/columns.h"

namespace evener {

struct NeighbourOptions {
  std::uint32_t query_entries = 64;         // the largest entries of a row that are looked up
  std::uint32_t postings_a_feature = 1000;  // the largest entries of a feature that are indexed
  std::uint32_t rescored = 100;             // neighbours; their similarity is that of whole rows
};

inline constexpr std::uint32_t kNoRow = UINT32_MAX;

/// Rows scaled by feature weights, then to unit length.
struct ScaledRows {
  std::vector<float> feature_weights;
  std::vector<float> factors;  // by row: what made its length 1
  std::vector<float> values;   // of all entries
};
ScaledRows scale_rows(const CsrView& rows, std::vector<float> feature_weights, Team& team);
/// One row. Returns its factor.
float scale_row(const RowView& row, std::span<const float> feature_weights, float* values);

/// The largest entries of each feature, in ascending order of rows. `scaled`: how the rows of
/// `columns` are scaled before, or null.
SparseColumns largest_postings(const SparseColumns& columns, const ScaledRows* scaled,
                               std::size_t limit, Team& team);

class NeighbourIndex {
 public:
  /// `rows` (scaled) must outlive the index. `postings`: the largest of them.
  NeighbourIndex(const CsrView& rows, SparseColumns postings, const NeighbourOptions& options);
  NeighbourIndex(const CsrView& rows, std::size_t feature_count, const NeighbourOptions& options,
                 Team& team);

  struct Scratch {
    std::vector<float> sums;   // by indexed row; zero between queries
    std::vector<float> query;  // by feature; zero between queries
    std::vector<std::uint32_t> touched;
    BestOf best_entries, best_rows;
    std::vector<Scored> found;
  };

  /// The neighbours of a scaled row, best first, without the row `self` of the index.
  std::span<const Scored> find(const RowView& row, std::uint32_t self, Scratch& scratch) const;

  /// For another index of the same rows.
  SparseColumns take_postings() { return std::move(postings_); }

 private:
  CsrView rows_;
  NeighbourOptions options_;
  SparseColumns postings_;
};

}  // namespace evener
