// Reads CSR matrices of features and labels from .npz archives, as scipy.sparse saves them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "evener/core/counted.h"
#include "evener/core/error.h"
#include "evener/data/npy.h"
#include "evener/data/parse.h"
#include "evener/data/read_arrays.h"
#include "evener/data/text_rows.h"
#include "evener/data/zip.h"

namespace evener {

namespace {

using Bytes = std::span<const std::byte>;

struct Matrix {
  std::uint32_t columns = 0;
  Array<std::uint64_t> offsets;
  Array<std::uint32_t> indices;
  Array<float> values;  // empty: all ones

  std::uint64_t rows() const { return offsets.size() - 1; }
};

/// The members of an archive whose names begin with `prefix`, which stays off the names.
class Members {
 public:
  Members(Bytes archive, std::string prefix)
      : archive_(archive), members_(zip_members(archive)), prefix_(std::move(prefix)) {}

  const ZipMember* find(const std::string& key) const {
    for (const auto& member : members_) {
      if (member.name == prefix_ + key + ".npy" || member.name == prefix_ + key) return &member;
    }
    return nullptr;
  }

  /// Unpacks a member and hands it to `use` as an array of `dimensions` dimensions.
  template <class Use>
  auto with(const std::string& key, int dimensions, Use use) const {
    const ZipMember* member = find(key);
    if (member == nullptr) throw Error(fmt::format("there is no array '{}{}'", prefix_, key));
    const Array<std::byte> bytes = unzip(archive_, *member);
    try {
      const NpyArray array = parse_npy(bytes.span());
      if (array.dimensions != dimensions) throw Error("a numpy array has the wrong dimensions");
      return use(array);
    } catch (const Error& error) {
      throw Error(fmt::format("'{}{}': {}", prefix_, key, error.what()));
    }
  }

 private:
  Bytes archive_;
  std::vector<ZipMember> members_;
  std::string prefix_;
};

std::pair<std::uint64_t, std::uint32_t> read_shape(const Members& members) {
  return members.with("shape", 1, [](const NpyArray& array) {
    if (array.count != 2) throw Error("a matrix has two dimensions");
    const std::int64_t rows = integer_at(array, 0);
    const std::int64_t columns = integer_at(array, 1);
    if (rows < 1) throw Error("the matrix has no rows");
    if (columns < 0 || columns > static_cast<std::int64_t>(IndexLimit::kLargest)) {
      throw Error("the matrix has an impossible number of columns");
    }
    return std::pair(static_cast<std::uint64_t>(rows), static_cast<std::uint32_t>(columns));
  });
}

Array<std::uint64_t> read_offsets(const Members& members, std::uint64_t rows) {
  return members.with("indptr", 1, [&](const NpyArray& array) {
    if (array.count != rows + 1) throw Error("there must be one more than there are rows");
    Array<std::uint64_t> offsets;
    offsets.resize(array.count);
    std::int64_t last = 0;
    for (std::uint64_t i = 0; i < array.count; ++i) {
      const std::int64_t offset = integer_at(array, i);
      if (offset < last || (i == 0 && offset != 0)) {
        throw Error(fmt::format("element {} is out of order", i));
      }
      last = offset;
      offsets[i] = static_cast<std::uint64_t>(offset);
    }
    return offsets;
  });
}

Array<std::uint32_t> read_indices(const Members& members, const Array<std::uint64_t>& offsets,
                                  std::uint32_t columns) {
  return members.with("indices", 1, [&](const NpyArray& array) {
    if (array.count != offsets[offsets.size() - 1]) throw Error("the length is not indptr's last");
    Array<std::uint32_t> indices;
    indices.resize(array.count);
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
      for (std::uint64_t i = offsets[row]; i < offsets[row + 1]; ++i) {
        const std::int64_t index = integer_at(array, i);
        if (index < 0 || index >= static_cast<std::int64_t>(columns)) {
          throw Error(fmt::format("row {}: index {} is not below the matrix's {} columns", row,
                                  index, columns));
        }
        indices[i] = static_cast<std::uint32_t>(index);
      }
    }
    return indices;
  });
}

Array<float> read_values(const Members& members, const Array<std::uint64_t>& offsets) {
  return members.with("data", 1, [&](const NpyArray& array) {
    if (array.count != offsets[offsets.size() - 1]) throw Error("the length is not indptr's last");
    Array<float> values = floats_of(array);
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
      for (std::uint64_t i = offsets[row]; i < offsets[row + 1]; ++i) {
        if (!std::isfinite(values[i])) {
          throw Error(fmt::format("row {}: a value is not finite, or too large", row));
        }
      }
    }
    return values;
  });
}

/// A data set has ascending columns; scipy does not guarantee them.
void sort_rows(Matrix& matrix) {
  std::vector<float> ones;
  for (std::uint64_t row = 0; row < matrix.rows(); ++row) {
    const std::uint64_t begin = matrix.offsets[row];
    const std::uint64_t count = matrix.offsets[row + 1] - begin;
    std::uint32_t* const indices = matrix.indices.begin() + begin;
    if (std::is_sorted(indices, indices + count, std::less_equal<>())) continue;
    if (matrix.values.empty()) ones.assign(count, 1.0F);
    try {
      sort_features(indices, matrix.values.empty() ? ones.data() : matrix.values.begin() + begin,
                    count, 0);
    } catch (const LineError& error) {
      throw Error(fmt::format("row {}: {}", row, error.what));
    }
  }
}

Matrix read_matrix(const Members& members, bool needs_values) {
  if (members.find("format") != nullptr) {
    const auto format = members.with("format", 0, [](auto& array) { return text_of(array); });
    if (format != "csr") {
      throw Error(fmt::format("the matrix is in '{}' format; save it as CSR (tocsr())", format));
    }
  }
  Matrix matrix;
  const auto [rows, columns] = read_shape(members);
  matrix.columns = columns;
  matrix.offsets = read_offsets(members, rows);
  matrix.indices = read_indices(members, matrix.offsets, columns);
  if (needs_values || members.find("data") != nullptr) {
    matrix.values = read_values(members, matrix.offsets);
  }
  sort_rows(matrix);
  return matrix;
}

/// Labels are the positions of non-zeros, so a stored zero is not a label.
void drop_zeros(Matrix& matrix) {
  if (matrix.values.empty()) return;
  std::uint64_t kept = 0;
  std::uint64_t begin = 0;
  for (std::uint64_t row = 0; row < matrix.rows(); ++row) {
    const std::uint64_t end = matrix.offsets[row + 1];
    for (std::uint64_t i = begin; i < end; ++i) {
      if (matrix.values[i] != 0) matrix.indices[kept++] = matrix.indices[i];
    }
    matrix.offsets[row + 1] = kept;
    begin = end;
  }
  matrix.indices.resize(kept);
}

// Adds the archive's name to errors of its parts.
template <class Read>
Matrix with_name(const std::string& name, Read read) {
  try {
    return read();
  } catch (const Error& error) {
    throw DataError(name, 0, error.what());
  }
}

}  // namespace

Dataset parse_npz(Bytes npz, const std::string& name, Bytes labels,
                  const std::string& labels_name) {
  Matrix x = with_name(name, [&] { return read_matrix(Members(npz, ""), true); });
  Matrix y;
  if (!labels.empty()) {
    y = with_name(labels_name, [&] { return read_matrix(Members(labels, ""), false); });
  } else {
    y = with_name(name, [&] {
      const Members members(npz, "y_");
      if (members.find("indptr") != nullptr) return read_matrix(members, false);
      Matrix none;
      none.offsets.resize(x.offsets.size());
      std::fill(none.offsets.begin(), none.offsets.end(), 0);
      return none;
    });
  }
  if (y.rows() != x.rows()) {
    throw DataError(labels.empty() ? name : labels_name, 0,
                    fmt::format("there are labels for {}, but {}", counted(y.rows(), "row"),
                                counted(x.rows(), "row")));
  }
  drop_zeros(y);
  ReadArrays<std::uint32_t> data;
  data.feature_offsets = std::move(x.offsets);
  data.indices = std::move(x.indices);
  data.values = std::move(x.values);
  data.label_offsets = std::move(y.offsets);
  data.labels = std::move(y.indices);
  return dataset_of(std::move(data), x.columns, y.columns);
}

}  // namespace evener
