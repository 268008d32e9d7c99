// A sparse matrix by columns: for each feature, the rows that have it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evener/core/team.h"
#include "evener/data/dataset.h"

namespace evener {

/// Column c has the entries offsets[c] .. offsets[c + 1], in ascending order of rows.
struct SparseColumns {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> rows;
  std::vector<float> values;  // empty if the matrix has none

  std::size_t count() const { return offsets.size() - 1; }
  std::span<const std::uint32_t> rows_of(std::size_t column) const {
    return std::span(rows).subspan(offsets[column], size_of(column));
  }
  std::span<const float> values_of(std::size_t column) const {
    return std::span(values).subspan(offsets[column], size_of(column));
  }
  std::size_t size_of(std::size_t column) const { return offsets[column + 1] - offsets[column]; }
};

SparseColumns columns_of(const CsrView& matrix, std::size_t column_count, Team& team);

}  // namespace evener
