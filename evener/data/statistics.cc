#include "evener/data/statistics.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <span>

namespace evener {

namespace {

// Reorders `counts`.
Spread spread_of(std::span<std::uint32_t> counts) {
  Spread spread;
  if (counts.empty()) return spread;
  const auto [min, max] = std::minmax_element(counts.begin(), counts.end());
  spread.min = *min;
  spread.max = *max;
  const auto sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  spread.mean = static_cast<double>(sum) / static_cast<double>(counts.size());
  spread.bins.resize(static_cast<std::size_t>(std::bit_width(spread.max)) + 1);
  for (const std::uint32_t count : counts) {
    ++spread.bins[static_cast<std::size_t>(std::bit_width(count))];
  }
  const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::nth_element(counts.begin(), middle, counts.end());
  spread.median = *middle;
  if (counts.size() % 2 == 0) {
    spread.median = (spread.median + *std::max_element(counts.begin(), middle)) / 2;
  }
  return spread;
}

std::vector<std::uint32_t> row_sizes(const CsrView& rows) {
  std::vector<std::uint32_t> sizes(rows.rows());
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    sizes[r] = static_cast<std::uint32_t>(rows.offsets[r + 1] - rows.offsets[r]);
  }
  return sizes;
}

// The number of rows in which each used column occurs.
std::vector<std::uint32_t> column_sizes(const CsrView& rows, std::uint32_t columns) {
  std::vector<std::uint32_t> sizes(columns);
  for (const std::uint32_t index : rows.indices) ++sizes[index];
  std::erase(sizes, 0U);
  return sizes;
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The share of all entries that belong to the most frequent 1 % (at least one) of the labels.
double head_share(std::vector<std::uint32_t>& sizes, std::uint64_t entries) {
  if (sizes.empty()) return 0;
  const auto head = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, sizes.size() / 100));
  std::nth_element(sizes.begin(), sizes.begin() + head - 1, sizes.end(), std::greater<>());
  return share(std::accumulate(sizes.begin(), sizes.begin() + head, std::uint64_t{0}), entries);
}

std::uint64_t bytes_of(const CsrView& rows) {
  return rows.offsets.size_bytes() + rows.indices.size_bytes() + rows.values.size_bytes();
}

}  // namespace

Statistics statistics_of(const Dataset& data) {
  Statistics result;
  result.rows = data.rows();
  result.feature_count = data.feature_count;
  result.label_count = data.label_count;
  result.nonzeros = data.features.nonzeros();
  result.label_entries = data.labels.nonzeros();

  std::vector<std::uint32_t> sizes = row_sizes(data.features);
  result.rows_without_feature =
      static_cast<std::size_t>(std::count(sizes.begin(), sizes.end(), 0U));
  result.features_per_row = spread_of(sizes);
  sizes = row_sizes(data.labels);
  result.rows_without_label = static_cast<std::size_t>(std::count(sizes.begin(), sizes.end(), 0U));
  result.labels_per_row = spread_of(sizes);

  sizes = column_sizes(data.features, data.feature_count);
  result.features_used = sizes.size();
  result.rows_per_feature = spread_of(sizes);
  sizes = column_sizes(data.labels, data.label_count);
  result.labels_used = sizes.size();
  result.rows_per_label = spread_of(sizes);
  const auto rare = std::count_if(sizes.begin(), sizes.end(),
                                  [](std::uint32_t size) { return size <= Statistics::kRareRows; });
  result.rare_label_share = share(static_cast<std::uint64_t>(rare), sizes.size());
  result.head_label_share = head_share(sizes, result.label_entries);

  if (!data.features.values.empty()) {
    const auto [min, max] =
        std::minmax_element(data.features.values.begin(), data.features.values.end());
    result.min_value = *min;
    result.max_value = *max;
  } else if (result.nonzeros > 0) {
    result.min_value = result.max_value = 1;
  }
  result.memory_bytes = bytes_of(data.features) + bytes_of(data.labels);
  return result;
}

std::vector<Figure> figures(const Statistics& s) {
  std::vector<Figure> list = {
      {"rows", std::uint64_t{s.rows}},
      {"feature_count", std::uint64_t{s.feature_count}},
      {"label_count", std::uint64_t{s.label_count}},
      {"features_used", std::uint64_t{s.features_used}},
      {"labels_used", std::uint64_t{s.labels_used}},
      {"nonzeros", s.nonzeros},
      {"label_entries", s.label_entries},
  };
  const auto add_spread = [&](const std::string& name, const Spread& spread) {
    list.emplace_back(name + ".min", spread.min);
    list.emplace_back(name + ".median", spread.median);
    list.emplace_back(name + ".mean", spread.mean);
    list.emplace_back(name + ".max", spread.max);
  };
  add_spread("features_per_row", s.features_per_row);
  add_spread("labels_per_row", s.labels_per_row);
  add_spread("rows_per_feature", s.rows_per_feature);
  add_spread("rows_per_label", s.rows_per_label);
  list.emplace_back("rows_without_feature", std::uint64_t{s.rows_without_feature});
  list.emplace_back("rows_without_label", std::uint64_t{s.rows_without_label});
  list.emplace_back("min_value", double{s.min_value});
  list.emplace_back("max_value", double{s.max_value});
  list.emplace_back("rare_label_share", s.rare_label_share);
  list.emplace_back("head_label_share", s.head_label_share);
  list.emplace_back("memory_bytes", s.memory_bytes);
  return list;
}

}  // namespace evener
