#include "evener/data/multilabel.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "evener/core/counted.h"
#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/data/number.h"
#include "evener/data/parse.h"
#include "evener/data/text_reader.h"

namespace evener {

namespace {

struct Multilabel {
  using Label = std::uint32_t;

  IndexLimit features;
  IndexLimit labels;

  const char* parse_line(const char* p, TextRows<Label>& rows) const {
    if (at_line_end(p)) return p + (*p == '\r');
    p = parse_labels(p, rows);
    p = parse_features(p, 0, false, features, rows);
    rows.feature_ends.push_back(rows.indices.size());
    rows.label_ends.push_back(rows.labels.size());
    return p + (*p == '\r');
  }

 private:
  // A line without labels begins with its first feature, or with a blank and then the feature.
  const char* parse_labels(const char* p, TextRows<Label>& rows) const {
    if (is_blank(*p)) return p;
    Label* const begin = rows.labels.end();
    Label* end = begin;
    for (const char* line = p;; ++p) {
      const char* token = p;
      std::uint64_t label = 0;
      p = parse_unsigned(p, label);
      if (p != token && *p == ':' && token == line) return line;
      if (p == token || (*p != ',' && !ends_token(p))) fail_label(token);
      if (label >= labels.limit) fail_limit("label", label, 0, labels);
      *end++ = static_cast<Label>(label);
      if (*p != ',') break;
    }
    // Labels are a set: a repeated label counts once.
    if (!std::is_sorted(begin, end, std::less_equal<>())) {
      std::sort(begin, end);
      end = std::unique(begin, end);
    }
    rows.labels.resize(rows.labels.size() + static_cast<std::size_t>(end - begin));
    return p;
  }

  [[noreturn]] static void fail_label(const char* token) {
    throw LineError{
        fmt::format("found {} where labels (a,b,c: numbers from 0) or index:value should stand",
                    quoted_token(token))};
  }
};

std::uint32_t checked_count(std::uint64_t count, const char* what, const std::string& name) {
  if (count <= IndexLimit::kLargest) return static_cast<std::uint32_t>(count);
  throw DataError(name, 1,
                  fmt::format("the header's number of {} is too large: at most {} are supported",
                              what, IndexLimit::kLargest));
}

std::uint32_t largest_label(const Array<std::uint32_t>& labels) {
  return labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()) + 1;
}

}  // namespace

std::optional<MultilabelHeader> parse_multilabel_header(std::string_view text) {
  const char* p = text.data();
  if (text.find('\n') == std::string_view::npos) return std::nullopt;
  std::uint64_t numbers[3];
  for (auto& number : numbers) {
    while (is_blank(*p)) ++p;
    const char* token = p;
    p = parse_unsigned(p, number);
    if (p == token || !ends_token(p)) return std::nullopt;
  }
  while (is_blank(*p)) ++p;
  if (!at_line_end(p)) return std::nullopt;
  return MultilabelHeader{numbers[0], numbers[1], numbers[2]};
}

Dataset parse_multilabel(Windows& text, const std::string& name, const ReadOptions& options) {
  std::string_view window = without_byte_order_mark(text.next());
  const auto header = parse_multilabel_header(window);
  Multilabel dialect;
  if (header) {
    checked_count(header->features, "features", name);
    checked_count(header->labels, "labels", name);
    window.remove_prefix(window.find('\n') + 1);
    if (window.empty()) window = text.next();
    dialect.features = limit_of(options.feature_count, header->features, true);
    dialect.labels = limit_of(options.label_count, header->labels, true);
  } else {
    dialect.features = limit_of(options.feature_count, 0, false);
    dialect.labels = limit_of(options.label_count, 0, false);
  }
  auto data = TextReader(dialect, name, options.threads).read(window, text, header ? 1 : 0);
  if (header && data.rows() != header->rows) {
    throw DataError(name, 1,
                    fmt::format("the header promises {}, but {} follow",
                                counted(header->rows, "row"), data.rows()));
  }
  if (data.rows() == 0) throw DataError(name, 0, "the file has no rows");
  const auto count = [&](std::uint32_t option, std::uint64_t head, std::uint32_t found) {
    return option > 0 ? option : header ? static_cast<std::uint32_t>(head) : found;
  };
  const std::uint32_t features =
      count(options.feature_count, header ? header->features : 0, data.feature_count);
  const std::uint32_t labels =
      count(options.label_count, header ? header->labels : 0, largest_label(data.labels));
  return dataset_of(std::move(data), features, labels);
}

}  // namespace evener
