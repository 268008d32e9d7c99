#include "evener/data/make/named_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "evener/core/error.h"
#include "evener/core/random.h"

namespace evener {

namespace {

using Names = std::vector<std::string>;
using Counts = std::unordered_map<std::string_view, std::uint32_t>;
using Numbers = std::unordered_map<std::string_view, std::uint32_t>;

// The number of rows in which a name occurs.
Counts count_rows(const std::vector<NamedRow>& rows, Names NamedRow::*list) {
  Counts counts;
  std::unordered_set<std::string_view> seen;
  for (const NamedRow& row : rows) {
    seen.clear();
    for (const std::string& name : row.*list) {
      if (seen.insert(name).second) ++counts[name];
    }
  }
  return counts;
}

// The counts refer to the names in `rows`, so they are destroyed before names are dropped.
void drop_names(std::vector<NamedRow>& rows, Names NamedRow::*list, double least, double most) {
  std::vector<std::vector<bool>> drop(rows.size());
  {
    const Counts counts = count_rows(rows, list);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (const std::string& name : rows[r].*list) {
        const double count = counts.at(name);
        drop[r].push_back(count < least || count > most);
      }
    }
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::size_t i = 0;
    std::erase_if(rows[r].*list, [&](const std::string&) { return drop[r][i++]; });
  }
  std::erase_if(rows, [&](const NamedRow& row) { return (row.*list).empty(); });
}

Names sorted_names(const Counts& counts) {
  Names names;
  names.reserve(counts.size());
  for (const auto& entry : counts) names.emplace_back(entry.first);
  std::sort(names.begin(), names.end());
  return names;
}

Numbers number_names(const Names& names) {
  Numbers numbers;
  for (const std::string& name : names) {
    numbers.emplace(name, static_cast<std::uint32_t>(numbers.size()));
  }
  return numbers;
}

void append_row(CsrArrays& arrays, const Names& names, const Numbers& numbers, bool with_values) {
  std::vector<std::uint32_t> indices;
  for (const std::string& name : names) indices.push_back(numbers.at(name));
  std::sort(indices.begin(), indices.end());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (i > 0 && indices[i] == indices[i - 1]) {
      if (with_values) ++arrays.values.back();
    } else {
      arrays.indices.push_back(indices[i]);
      if (with_values) arrays.values.push_back(1);
    }
  }
  arrays.offsets.push_back(arrays.indices.size());
}

struct Numbering {
  Numbers features, labels;
};

Dataset gather(const std::vector<NamedRow>& rows, std::span<const std::uint32_t> chosen,
               const Numbering& numbering, Names label_names, Names& row_names) {
  CsrArrays features, labels;
  for (const std::uint32_t r : chosen) {
    append_row(features, rows[r].features, numbering.features, true);
    append_row(labels, rows[r].labels, numbering.labels, false);
    row_names.push_back(rows[r].name);
  }
  return make_dataset(std::move(features), static_cast<std::uint32_t>(numbering.features.size()),
                      std::move(labels), static_cast<std::uint32_t>(numbering.labels.size()),
                      std::move(label_names));
}

}  // namespace

MadeData number_rows(std::vector<NamedRow> rows, const NumberingOptions& options) {
  if (!(options.test_share >= 0 && options.test_share < 1)) {
    throw UsageError("the test share must be at least 0 and below 1");
  }
  const double no_limit = static_cast<double>(rows.size());
  drop_names(rows, &NamedRow::labels, options.min_label_rows, no_limit);
  drop_names(rows, &NamedRow::features, options.min_feature_rows,
             options.max_feature_share * static_cast<double>(rows.size()));

  MadeData made;
  made.features = sorted_names(count_rows(rows, &NamedRow::features));
  Names labels = sorted_names(count_rows(rows, &NamedRow::labels));
  const Numbering numbering{number_names(made.features), number_names(labels)};

  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0U);
  Random(options.seed).shuffle(std::span(order));
  const auto test_rows =
      static_cast<std::size_t>(std::llround(options.test_share * static_cast<double>(rows.size())));
  const std::span<const std::uint32_t> all(order);
  made.test = gather(rows, all.first(test_rows), numbering, labels, made.test_names);
  made.train = gather(rows, all.subspan(test_rows), numbering, labels, made.train_names);
  return made;
}

}  // namespace evener
