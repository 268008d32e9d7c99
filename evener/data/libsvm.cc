// Reads LIBSVM text. Classes become labels by ascending value, or in the order of a model.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/data/number.h"
#include "evener/data/parse.h"
#include "evener/data/text_reader.h"

namespace evener {

namespace {

/// Class values and the label each becomes, by ascending value.
struct Classes {
  std::vector<std::pair<double, std::uint32_t>> sorted;

  /// Null if there is no such class.
  const std::uint32_t* label_of(double value) const {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), value,
                                     [](auto& entry, double v) { return entry.first < v; });
    return at != sorted.end() && at->first == value ? &at->second : nullptr;
  }
};

struct Libsvm {
  using Label = double;

  IndexLimit features;
  const Classes* known = nullptr;  // null: every class is accepted

  const char* parse_line(const char* p, TextRows<Label>& rows) const {
    const char* content = p;
    while (is_blank(*content)) ++content;
    if (at_line_end(content) || *content == '#') return skip_to_end(content);
    p = parse_classes(p, rows);
    p = parse_features(p, 1, true, features, rows);
    rows.feature_ends.push_back(rows.indices.size());
    rows.label_ends.push_back(rows.labels.size());
    return skip_to_end(p);
  }

 private:
  static const char* skip_to_end(const char* p) {
    while (*p != '\n') ++p;
    return p;
  }

  const char* parse_classes(const char* p, TextRows<Label>& rows) const {
    if (is_blank(*p)) return p;
    const std::size_t before = rows.labels.size();
    for (const char* line = p;; ++p) {
      const char* token = p;
      double value = 0;
      p = parse_class(token, value);
      if (p != nullptr && *p == ':' && token == line) {
        rows.labels.resize(before);
        return line;
      }
      if (p == nullptr || (*p != ',' && !ends_token(p)) || !std::isfinite(value)) {
        fail_class(token);
      }
      if (known != nullptr && known->label_of(value) == nullptr) {
        throw LineError{fmt::format("the model does not know the class {}", quoted_token(token))};
      }
      rows.labels.push_back(value + 0.0);  // -0 and 0 are one class
      if (*p != ',') break;
    }
    return p;
  }

  // Nearly always a small integer, signed or not.
  static const char* parse_class(const char* p, double& value) {
    const char* digits = p + (*p == '-' || *p == '+');
    std::uint64_t magnitude = 0;
    const char* end = parse_unsigned(digits, magnitude);
    if (end != digits && end - digits <= 15 && *end != '.' && (*end | 0x20) != 'e') {
      value = *p == '-' ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
      return end;
    }
    while (!ends_token(end) && *end != ',' && *end != ':') ++end;
    return parse_any_double(p, end, value) == end ? end : nullptr;
  }

  [[noreturn]] static void fail_class(const char* token) {
    throw LineError{fmt::format("found {} where the class (a number, or a,b,c) should stand",
                                quoted_token(token))};
  }
};

/// Skips names that are not numbers: a LIBSVM file cannot have such labels.
Classes classes_of(const std::vector<std::string>& names) {
  Classes classes;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const char* end = names[i].data() + names[i].size();
    double value = 0;
    if (parse_any_double(names[i].data(), end, value) == end && std::isfinite(value)) {
      classes.sorted.emplace_back(value + 0.0, static_cast<std::uint32_t>(i));
    }
  }
  std::sort(classes.sorted.begin(), classes.sorted.end());
  return classes;
}

/// Numbers the distinct values in ascending order. Most files have few classes in long rows of
/// labels, so the values are thinned out before they are sorted.
Classes classes_of(const Array<double>& labels) {
  std::vector<double> values;
  const auto thin = [&] {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  };
  std::size_t limit = 1 << 16;
  for (const double label : labels) {
    values.push_back(label);
    if (values.size() >= limit) {
      thin();
      limit = std::max(limit, 2 * values.size());
    }
  }
  thin();
  Classes classes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    classes.sorted.emplace_back(values[i], static_cast<std::uint32_t>(i));
  }
  return classes;
}

/// Replaces class values by labels, each row ascending and without repetition.
ReadArrays<std::uint32_t> number_labels(ReadArrays<double> data, const Classes& classes) {
  ReadArrays<std::uint32_t> result;
  result.labels.resize(data.labels.size());
  result.label_offsets.resize(data.label_offsets.size());
  std::uint32_t* const labels = result.labels.begin();
  std::uint32_t* end = labels;
  for (std::size_t row = 0; row < data.rows(); ++row) {
    std::uint32_t* const begin = end;
    for (std::uint64_t i = data.label_offsets[row]; i < data.label_offsets[row + 1]; ++i) {
      *end++ = *classes.label_of(data.labels[i]);
    }
    if (end - begin > 1) {
      std::sort(begin, end);
      end = std::unique(begin, end);
    }
    result.label_offsets[row + 1] = static_cast<std::uint64_t>(end - labels);
  }
  result.labels.resize(static_cast<std::size_t>(end - labels));
  result.feature_offsets = std::move(data.feature_offsets);
  result.indices = std::move(data.indices);
  result.values = std::move(data.values);
  return result;
}

std::vector<std::string> names_of(const Classes& classes) {
  std::vector<std::string> names;
  for (const auto& [value, label] : classes.sorted) names.push_back(fmt::format("{}", value));
  return names;
}

}  // namespace

Dataset parse_libsvm(Windows& text, const std::string& name, const ReadOptions& options) {
  const bool has_model = !options.label_names.empty();
  Classes classes = classes_of(options.label_names);
  Libsvm dialect;
  dialect.features = limit_of(options.feature_count, 0, false);
  if (has_model) dialect.known = &classes;
  auto data = TextReader(dialect, name, options.threads)
                  .read(without_byte_order_mark(text.next()), text, 0);
  if (data.rows() == 0) throw DataError(name, 0, "the file has no rows");
  if (!has_model) classes = classes_of(data.labels);

  auto names = has_model ? options.label_names : names_of(classes);
  const auto label_count = static_cast<std::uint32_t>(names.size());
  if (options.label_count > 0 && label_count > options.label_count) {
    throw DataError(name, 0,
                    fmt::format("the file has {} classes, the model only {}", label_count,
                                options.label_count));
  }
  if (label_count < options.label_count) names.clear();
  const std::uint32_t feature_count =
      options.feature_count > 0 ? options.feature_count : data.feature_count;
  return dataset_of(number_labels(std::move(data), classes), feature_count,
                    std::max(label_count, options.label_count), std::move(names));
}

}  // namespace evener
