// The statistics of a data set as text for people, with histograms.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "evener/data/statistics.h"

namespace evener {

namespace {

constexpr int kLeastWidth = 40;
constexpr int kChartHeight = 4;  // lines; each has eight steps
constexpr int kWidestBin = 6;    // columns, of which one is the gap to the next bin
constexpr std::string_view kIndent = "  ";

// 1234567 -> 1,234,567.
std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string grouped_rows(std::uint64_t number) {
  return grouped(number) + (number == 1 ? " row" : " rows");
}

// Formats a mean or median: three digits, or all integer digits of a larger number.
std::string short_number(double number) {
  const bool whole = number == std::floor(number);
  return whole || number >= 100 ? grouped(static_cast<std::uint64_t>(std::llround(number)))
                                : fmt::format("{:.3g}", number);
}

std::string bytes(std::uint64_t count) {
  constexpr std::array<const char*, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(count);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return fmt::format("{:.{}f} {}", size, unit == 0 ? 0 : 1, kUnits[unit]);
}

// Bin edges below the bars must be short: 65536 -> 64k.
std::string edge(std::size_t bin) {
  if (bin == 0) return "0";
  constexpr std::string_view kPrefixes = " kMGTPE";
  const std::size_t power = bin - 1;
  std::string text = std::to_string(1U << (power % 10));
  if (power >= 10) text += kPrefixes[power / 10];
  return text;
}

// One column of the chart at a line: how much of the cell (0..8) the bar fills.
std::string_view cell(int eighths, bool ascii) {
  constexpr std::array<std::string_view, 9> kBlocks = {
      " ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
  constexpr std::array<std::string_view, 9> kAscii = {" ", ".", ".", ".", ":", ":", ":", "#", "#"};
  return (ascii ? kAscii : kBlocks)[static_cast<std::size_t>(std::clamp(eighths, 0, 8))];
}

void trim_right(std::string& text) {
  while (text.ends_with(' ')) text.pop_back();
}

std::string chart(const Spread& spread, bool ascii, int width) {
  std::size_t first = 0;
  while (first < spread.bins.size() && spread.bins[first] == 0) ++first;
  if (first == spread.bins.size()) return {};
  const auto bins = static_cast<int>(spread.bins.size() - first);
  const int room = width - static_cast<int>(kIndent.size());
  const int column = std::clamp(room / bins, 1, kWidestBin);
  const int bar = std::max(1, column - 1);
  const auto tallest =
      static_cast<double>(*std::max_element(spread.bins.begin(), spread.bins.end()));

  std::string text;
  for (int line = kChartHeight - 1; line >= 0; --line) {
    std::string row(kIndent);
    for (std::size_t bin = first; bin < spread.bins.size(); ++bin) {
      // A non-zero count shows at least the lowest step.
      const int steps = static_cast<int>(
          std::ceil(static_cast<double>(spread.bins[bin]) / tallest * (8 * kChartHeight)));
      for (int i = 0; i < bar; ++i) row += cell(steps - 8 * line, ascii);
      row.append(static_cast<std::size_t>(column - bar), ' ');
    }
    trim_right(row);
    text += row + '\n';
  }
  std::string edges(kIndent);
  for (int bin = 0; bin < bins; ++bin) {
    const std::size_t at = kIndent.size() + static_cast<std::size_t>(bin * column);
    const std::string label = edge(first + static_cast<std::size_t>(bin));
    // Narrow columns get every second or third edge.
    if (edges.size() > at || at + label.size() > static_cast<std::size_t>(width)) continue;
    edges.resize(at, ' ');
    edges += label + ' ';
  }
  trim_right(edges);
  return text + edges + '\n';
}

// Figures on one line, or on two where it is too narrow for them.
std::string section(std::string_view title, const Spread& spread, std::string_view range,
                    bool ascii, int width) {
  std::string head =
      fmt::format("{}: {} {} {},", title, grouped(spread.min), range, grouped(spread.max));
  const std::string middle =
      fmt::format("median {}, mean {}", short_number(spread.median), short_number(spread.mean));
  const bool fits = head.size() + 1 + middle.size() <= static_cast<std::size_t>(width);
  head += fits ? " " : fmt::format("\n{}", kIndent);
  return "\n" + head + middle + "\n" + chart(spread, ascii, width);
}

std::string used(std::uint64_t used, std::uint64_t all) {
  return used == all ? grouped(all) : fmt::format("{} ({} used)", grouped(all), grouped(used));
}

}  // namespace

std::string describe(const Statistics& s, bool ascii, int width) {
  width = std::max(width, kLeastWidth);
  const std::string_view range = ascii ? "to" : "\u2026";
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<10} {}\n", name, value);
  };
  line("rows", grouped(s.rows));
  line("features", used(s.features_used, s.feature_count));
  line("labels", used(s.labels_used, s.label_count));
  line("values", fmt::format("{:.6g} {} {:.6g}", s.min_value, range, s.max_value));
  line("memory", bytes(s.memory_bytes));
  if (s.rows_without_feature > 0) line("no feature", grouped_rows(s.rows_without_feature));
  if (s.rows_without_label > 0) line("no label", grouped_rows(s.rows_without_label));
  text += section("features per row", s.features_per_row, range, ascii, width);
  text += section("labels per row", s.labels_per_row, range, ascii, width);
  text += section("rows per label", s.rows_per_label, range, ascii, width);
  text += fmt::format("{}{:.1f} % of labels have at most {} rows\n", kIndent,
                      100 * s.rare_label_share, Statistics::kRareRows);
  text +=
      fmt::format("{}the top 1 % hold {:.1f} % of entries\n", kIndent, 100 * s.head_label_share);
  return text;
}

}  // namespace evener
