// Rows of text, `labels idx:val idx:val ...`: what multi-label text and LIBSVM have in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "evener/data/array.h"
#include "evener/data/number.h"

namespace evener {

/// An error in the current line; becomes a DataError where the line number is known.
struct LineError {
  std::string what;
};

/// Every index below the limit is accepted; `whose` says in errors where the limit comes from.
struct IndexLimit {
  std::uint64_t limit = kLargest;
  std::string whose;

  /// Indices and counts are 32 bits wide.
  static constexpr std::uint64_t kLargest = 0xFFFFFFFF;
};

/// Rows that one thread parsed. Ends count from the first row of this part.
template <class Label>
struct TextRows {
  Array<std::uint64_t> feature_ends;
  Array<std::uint64_t> label_ends;
  Array<std::uint32_t> indices;
  Array<float> values;
  Array<Label> labels;
  std::uint32_t feature_count = 0;  // largest index + 1

  std::size_t lines = 0;  // complete ones: an error is in the next
  std::string error;      // empty: none

  void clear() {
    feature_ends.clear();
    label_ends.clear();
    indices.clear();
    values.clear();
    labels.clear();
    lines = 0;
    error.clear();
  }
};

inline bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
inline bool at_line_end(const char* p) {
  return *p == '\n' || (*p == '\r' && p[1] == '\n');
}
inline bool ends_token(const char* p) {
  return is_blank(*p) || at_line_end(p);
}

/// The token at `p` for an error message: cut short, and unprintable bytes spelt out.
std::string quoted_token(const char* p);

[[noreturn]] void fail_index(const char* token, std::uint64_t index, std::uint64_t first);
[[noreturn]] void fail_limit(const char* kind, std::uint64_t index, std::uint64_t first,
                             const IndexLimit& limit);

/// Parses the value at `p` if the fast path cannot; refuses values that are not finite.
const char* parse_long_value(const char* p, float& value);

/// Sorts a row's features by index; a repeated index is an error.
void sort_features(std::uint32_t* indices, float* values, std::size_t count, std::uint64_t first);

/// Parses `idx:val ...` up to the line end and appends it to `rows`, for which there must be room
/// (4 bytes of text a feature). `first` is the format's lowest index. Returns the line end.
template <class Label>
const char* parse_features(const char* p, std::uint64_t first, bool comments,
                           const IndexLimit& limit, TextRows<Label>& rows) {
  std::uint32_t* const indices = rows.indices.end();
  float* const values = rows.values.end();
  std::size_t count = 0;
  std::int64_t last = -1;
  bool ascending = true;
  for (;;) {
    while (is_blank(*p)) ++p;
    if (at_line_end(p) || (comments && *p == '#')) break;
    const char* token = p;
    std::uint64_t index = 0;
    p = parse_unsigned(p, index);
    if (p == token || *p != ':' || index < first) fail_index(token, index, first);
    index -= first;
    if (index >= limit.limit) fail_limit("feature index", index, first, limit);
    const char* value = ++p;
    p = parse_short_float(value, values[count]);
    if (p == nullptr || !ends_token(p)) p = parse_long_value(value, values[count]);
    indices[count++] = static_cast<std::uint32_t>(index);
    ascending &= static_cast<std::int64_t>(index) > last;
    last = static_cast<std::int64_t>(index);
  }
  if (!ascending) sort_features(indices, values, count, first);
  if (count > 0 && indices[count - 1] >= rows.feature_count) {
    rows.feature_count = indices[count - 1] + 1;
  }
  rows.indices.resize(rows.indices.size() + count);
  rows.values.resize(rows.values.size() + count);
  return p;
}

}  // namespace evener
