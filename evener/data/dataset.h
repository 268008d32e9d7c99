// A data set in memory: sparse feature rows and the set of labels of each row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace evener {

/// One sparse row: `indices[i]` has `values[i]`. Label rows have no values.
struct RowView {
  std::span<const std::uint32_t> indices;
  std::span<const float> values;
};

/// Compressed sparse rows, not owned. Indices of a row ascend strictly.
struct CsrView {
  std::span<const std::uint64_t> offsets;  // rows + 1 of them
  std::span<const std::uint32_t> indices;
  std::span<const float> values;  // as many as indices, or none where every value is 1 (labels)

  std::size_t rows() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  std::size_t nonzeros() const { return indices.size(); }
  RowView row(std::size_t r) const {
    const std::size_t begin = offsets[r];
    const std::size_t count = offsets[r + 1] - begin;
    return {indices.subspan(begin, count),
            values.empty() ? std::span<const float>{} : values.subspan(begin, count)};
  }
};

/// Immutable and cheap to copy; `storage` keeps vectors or a mapped cache file alive.
struct Dataset {
  CsrView features;
  CsrView labels;
  std::uint32_t feature_count = 0;       // every feature index is below it
  std::uint32_t label_count = 0;         // every label index is below it
  std::vector<std::string> label_names;  // empty, or label_count names (LIBSVM's classes, tags)
  std::shared_ptr<const void> storage;
  /// For a listed output (nn/network.h): the candidate labels of each row, with the fixed part of
  /// their scores, and the share of what the network adds to it. Empty for other networks.
  CsrView candidates{};
  float candidate_share = 1;

  std::size_t rows() const { return features.rows(); }
};

/// The owner of a data set that was read or made rather than mapped.
struct CsrArrays {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> indices;
  std::vector<float> values;

  CsrView view() const { return {offsets, indices, values}; }
};

/// Takes ownership of the arrays; the counts must exceed every index.
Dataset make_dataset(CsrArrays features, std::uint32_t feature_count, CsrArrays labels,
                     std::uint32_t label_count, std::vector<std::string> label_names = {});

/// The data with candidates for a listed output; takes ownership of them.
Dataset with_candidates(Dataset data, CsrArrays candidates, float share = 1);

/// Error with the path if the data set is a mapped file that was truncated while it was read:
/// everything that was computed from it since is wrong. Called before results are used or saved.
void check_intact(const Dataset& data);
bool is_intact(const Dataset& data);

/// Rows of a data set that are trained or evaluated together.
struct Batch {
  const Dataset* data;
  std::span<const std::uint32_t> rows;
};

}  // namespace evener
