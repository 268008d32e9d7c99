// A set of rows of the sparse input layer: those that have changed, so that merges and messages can
// skip the others.
#pragma once

#include <cstdint>
#include <vector>

#include "evener/data/dataset.h"

namespace evener {

class RowSet {
 public:
  explicit RowSet(std::size_t rows) : in_(rows, 0) {}

  void add(std::uint32_t row) {
    if (in_[row] != 0) return;
    in_[row] = 1;
    rows_.push_back(row);
  }
  void add(const RowSet& other) {
    for (const std::uint32_t row : other.rows_) add(row);
  }
  /// Adds the features that occur in these rows of the data.
  void add_features(const Dataset& data, std::span<const std::uint32_t> rows) {
    for (const std::uint32_t row : rows) {
      for (const std::uint32_t feature : data.features.row(row).indices) add(feature);
    }
  }
  void clear() {
    for (const std::uint32_t row : rows_) in_[row] = 0;
    rows_.clear();
  }
  const std::vector<std::uint32_t>& rows() const { return rows_; }

 private:
  std::vector<char> in_;
  std::vector<std::uint32_t> rows_;  // in the order they were added
};

}  // namespace evener
