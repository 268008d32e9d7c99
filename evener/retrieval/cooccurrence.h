// Which labels occur with a feature, and how well its rows agree in their labels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evener/retrieval/columns.h"
#include "evener/retrieval/parallel.h"

namespace evener {

/// T[f][l] = sum over training rows i with label l of |x_if|, for the labels of each feature with
/// the largest sums.
struct Cooccurrence {
  std::vector<std::uint64_t> offsets;  // by feature
  std::vector<std::uint32_t> labels;
  std::vector<float> sums;
  std::vector<float> feature_sums;        // c[f]: sum over rows of |x_if|
  std::vector<std::uint32_t> label_rows;  // rows of each label

  std::span<const std::uint32_t> labels_of(std::size_t feature) const {
    return std::span(labels).subspan(offsets[feature], offsets[feature + 1] - offsets[feature]);
  }
  std::span<const float> sums_of(std::size_t feature) const {
    return std::span(sums).subspan(offsets[feature], offsets[feature + 1] - offsets[feature]);
  }
};

struct FeatureLabels {
  Cooccurrence cooccurrence;
  /// For each feature: the label overlap of two random rows that have it, weighted by idf, relative
  /// to the mean over rows of the idf of their labels. Features with few pairs of rows are shrunk
  /// to the mean of features of about the same number of rows.
  std::vector<float> agreement;
};

struct CooccurrenceOptions {
  std::uint32_t labels_per_feature = 100;
  double pseudo_pairs = 5;
};

/// `features` are the columns of the training rows. False if `stop` ended it.
bool count_labels(const SparseColumns& features, const CsrView& labels, std::uint32_t label_count,
                  const CooccurrenceOptions& options, Team& team, const Stop& stop,
                  FeatureLabels& out);

}  // namespace evener
