// A sparse row as an array by feature, for products with other sparse rows.
#pragma once

#include <cstddef>
#include <vector>

#include "evener/data/dataset.h"

namespace evener {

/// Fills the row's features of `values`, which is zero elsewhere, and clears them at its end.
class DenseRow {
 public:
  DenseRow(const RowView& row, std::size_t feature_count, std::vector<float>& values)
      : row_(row), values_(values) {
    values_.resize(feature_count, 0.0F);
    for (std::size_t i = 0; i < row.indices.size(); ++i) values_[row.indices[i]] = row.values[i];
  }
  DenseRow(const DenseRow&) = delete;
  DenseRow& operator=(const DenseRow&) = delete;
  ~DenseRow() {
    for (const std::uint32_t feature : row_.indices) values_[feature] = 0;
  }

  const float* data() const { return values_.data(); }

 private:
  RowView row_;
  std::vector<float>& values_;
};

}  // namespace evener
