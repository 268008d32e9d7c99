#include "evener/retrieval/columns.h"

namespace evener {

SparseColumns columns_of(const CsrView& matrix, std::size_t column_count) {
  SparseColumns columns;
  columns.offsets.assign(column_count + 1, 0);
  for (const std::uint32_t column : matrix.indices) ++columns.offsets[column + 1];
  for (std::size_t c = 0; c < column_count; ++c) columns.offsets[c + 1] += columns.offsets[c];
  std::vector<std::uint64_t> next(columns.offsets.begin(), columns.offsets.end() - 1);
  columns.rows.resize(matrix.nonzeros());
  if (!matrix.values.empty()) columns.values.resize(matrix.nonzeros());
  for (std::size_t row = 0; row < matrix.rows(); ++row) {
    const RowView entries = matrix.row(row);
    for (std::size_t i = 0; i < entries.indices.size(); ++i) {
      const std::uint64_t at = next[entries.indices[i]]++;
      columns.rows[at] = static_cast<std::uint32_t>(row);
      if (!entries.values.empty()) columns.values[at] = entries.values[i];
    }
  }
  return columns;
}

}  // namespace evener
