// Statistics of a data set: sizes, distribution of row lengths, tail of rare labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "evener/data/dataset.h"

namespace evener {

/// The distribution of counts, such as the non-zeros of each row.
struct Spread {
  std::uint64_t min = 0, max = 0;
  double median = 0, mean = 0;
  /// bins[0] counts the zeros, bins[i] the values in [2^(i-1), 2^i).
  std::vector<std::uint64_t> bins;
};

struct Statistics {
  std::size_t rows = 0;
  std::uint32_t feature_count = 0, label_count = 0;
  std::size_t features_used = 0, labels_used = 0;  // that occur in a row
  std::uint64_t nonzeros = 0, label_entries = 0;
  Spread features_per_row, labels_per_row;
  Spread rows_per_feature, rows_per_label;  // over those used
  std::size_t rows_without_feature = 0, rows_without_label = 0;
  float min_value = 0, max_value = 0;  // over stored values
  double rare_label_share = 0;         // share of used labels with at most kRareRows rows
  double head_label_share = 0;  // share of label entries of the most frequent 1 % of used labels
  std::uint64_t memory_bytes = 0;

  static constexpr std::uint64_t kRareRows = 5;
};

Statistics statistics_of(const Dataset& data);

/// Text for people: lines of figures and histograms with logarithmic bins, at most `width` columns
/// (60 at least); bars of U+2581..2588 or, with `ascii`, of `.:#`.
std::string describe(const Statistics& statistics, bool ascii, int width);

/// JSON for programs: every figure by name, in the order of the struct.
using Figure = std::pair<std::string, std::variant<std::uint64_t, double>>;
std::vector<Figure> figures(const Statistics& statistics);

}  // namespace evener
