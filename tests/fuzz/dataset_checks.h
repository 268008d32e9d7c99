// Invariants of every data set that a reader accepts. Reading all of it detects bad bounds.
#pragma once

#include <cmath>
#include <cstdlib>
#include <span>
#include <string_view>

#include "evener/core/error.h"
#include "evener/data/dataset.h"

namespace evener {

inline void require(bool condition) {
  if (!condition) std::abort();
}

inline void check_matrix(const CsrView& matrix, std::size_t rows, std::uint32_t count) {
  require(matrix.rows() == rows && matrix.offsets.front() == 0);
  require(matrix.offsets.back() == matrix.indices.size());
  require(matrix.values.empty() || matrix.values.size() == matrix.indices.size());
  for (std::size_t row = 0; row < rows; ++row) {
    const auto indices = matrix.row(row).indices;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      require(indices[i] < count && (i == 0 || indices[i - 1] < indices[i]));
    }
  }
  for (const float value : matrix.values) require(std::isfinite(value));
}

inline void check_dataset(const Dataset& data) {
  check_matrix(data.features, data.rows(), data.feature_count);
  check_matrix(data.labels, data.rows(), data.label_count);
  require(data.label_names.empty() || data.label_names.size() == data.label_count);
}

/// Bad input must give an Error that a user can act on; anything else is a finding.
template <class Action>
bool accepted(Action&& action) {
  try {
    action();
    return true;
  } catch (const Error&) {
    return false;
  }
}

inline std::string_view text_of(const unsigned char* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}
inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace evener
