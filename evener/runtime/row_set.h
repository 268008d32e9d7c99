// A set of sparse rows of a model (nn/network.h): those that have changed, so that merges and
// messages can skip the others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evener/data/dataset.h"
#include "evener/nn/network.h"

namespace evener {

/// Calls f(row) for the sparse rows of the model that a step on these rows of the data reads and
/// changes; more than once for some.
template <class F>
void for_step_rows(const Network& network, const Dataset& data, std::span<const std::uint32_t> rows,
                   F f) {
  if (!network.sparse_input()) return;
  for (const std::uint32_t row : rows) {
    for (const std::uint32_t feature : data.features.row(row).indices) f(feature);
  }
  if (!network.listed_output()) return;
  f(bias_row(network));
  const std::uint32_t first = first_label_row(network);
  for (const std::uint32_t row : rows) {
    for (const std::uint32_t label : data.candidates.row(row).indices) f(first + label);
  }
}

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
  /// Adds the rows that a step on these rows of the data changes.
  void add_step(const Network& network, const Dataset& data, std::span<const std::uint32_t> rows) {
    for_step_rows(network, data, rows, [this](std::uint32_t row) { add(row); });
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
