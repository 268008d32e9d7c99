#include "evener/retrieval/columns.h"

#include "evener/retrieval/parallel.h"

namespace evener {

SparseColumns columns_of(const CsrView& matrix, std::size_t column_count, Team& team) {
  SparseColumns columns;
  const bool has_values = !matrix.values.empty();
  columns.offsets = sort_by_key(
      matrix.rows(), column_count, team, [&](std::size_t row) { return matrix.row(row).indices; },
      [&](std::uint64_t entries) {
        columns.rows.resize(entries);
        if (has_values) columns.values.resize(entries);
      },
      [&](std::uint64_t at, std::size_t row, std::size_t i) {
        columns.rows[at] = static_cast<std::uint32_t>(row);
        if (has_values) columns.values[at] = matrix.values[matrix.offsets[row] + i];
      });
  return columns;
}

}  // namespace evener
