// Parses windows of text on several threads and joins the parts in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "evener/core/error.h"
#include "evener/core/team.h"
#include "evener/data/read_arrays.h"
#include "evener/data/text_rows.h"
#include "evener/data/windows.h"

namespace evener {

/// The `parts`-th of `text` that falls to `part`, cut after line ends.
std::string_view part_of_lines(std::string_view text, int parts, int part);

/// A `Dialect` has a type `Label` and `const char* parse_line(const char*, TextRows<Label>&)
/// const`, which parses a line, throws LineError, and returns the position of its '\n'.
template <class Dialect>
class TextReader {
 public:
  using Label = typename Dialect::Label;

  TextReader(const Dialect& dialect, const std::string& name, int threads)
      : dialect_(dialect), name_(name), team_(std::max(threads, 1)) {
    // If there are at least two threads, one unpacks the next window and the others parse.
    parts_.resize(static_cast<std::size_t>(team_.size()));
  }

  /// Parses `first`, then all further windows. `lines` is the number of lines before `first`.
  ReadArrays<Label> read(std::string_view first, Windows& windows, std::size_t lines) {
    lines_ = lines;
    for (std::string_view window = first; !window.empty();) {
      const std::string_view following = parse_and_fetch(window, windows);
      window = following;
    }
    return std::move(data_);
  }

 private:
  // Parse errors take precedence over errors of unpacking what follows, so that the message does
  // not depend on the number of threads.
  std::string_view parse_and_fetch(std::string_view window, Windows& windows) {
    const int parsers = windows.slow() && team_.size() > 1 ? team_.size() - 1 : team_.size();
    std::string_view following;
    std::exception_ptr failure;
    const auto fetch = [&] {
      try {
        following = windows.next();
      } catch (...) {
        failure = std::current_exception();
      }
    };
    team_.run([&](int member) {
      if (member < parsers) {
        parse_part(part_of_lines(window, parsers, member), part(member));
      } else {
        fetch();
      }
    });
    append_parts(parsers);
    if (parsers == team_.size()) fetch();
    if (failure) std::rethrow_exception(failure);
    return following;
  }

  void parse_part(std::string_view text, TextRows<Label>& rows) const {
    rows.clear();
    // The shortest feature is `1:1 `, the shortest label `1,`.
    rows.indices.reserve(text.size() / 4 + 1);
    rows.values.reserve(text.size() / 4 + 1);
    rows.labels.reserve(text.size() / 2 + 1);
    const char* p = text.data();
    const char* end = p + text.size();
    try {
      while (p < end) {
        p = dialect_.parse_line(p, rows) + 1;
        ++rows.lines;
      }
    } catch (const LineError& error) {
      rows.error = error.what;
    }
  }

  void append_parts(int count) {
    std::vector<Place> places;
    for (int i = 0; i < count; ++i) {
      const TextRows<Label>& rows = part(i);
      if (!rows.error.empty()) throw DataError(name_, lines_ + rows.lines + 1, rows.error);
      lines_ += rows.lines;
      places.push_back({data_.rows(), data_.indices.size(), data_.labels.size()});
      data_.feature_offsets.resize(data_.feature_offsets.size() + rows.feature_ends.size());
      data_.label_offsets.resize(data_.label_offsets.size() + rows.label_ends.size());
      data_.indices.resize(data_.indices.size() + rows.indices.size());
      data_.values.resize(data_.values.size() + rows.values.size());
      data_.labels.resize(data_.labels.size() + rows.labels.size());
      data_.feature_count = std::max(data_.feature_count, rows.feature_count);
    }
    team_.run([&](int member) {
      if (member < count) copy_part(part(member), places[static_cast<std::size_t>(member)]);
    });
  }

  struct Place {
    std::size_t row, feature, label;
  };
  void copy_part(const TextRows<Label>& rows, const Place& place) {
    const auto shift = [](std::uint64_t by) {
      return [by](std::uint64_t end) { return end + by; };
    };
    std::transform(rows.feature_ends.begin(), rows.feature_ends.end(),
                   data_.feature_offsets.begin() + place.row + 1, shift(place.feature));
    std::transform(rows.label_ends.begin(), rows.label_ends.end(),
                   data_.label_offsets.begin() + place.row + 1, shift(place.label));
    std::copy(rows.indices.begin(), rows.indices.end(), data_.indices.begin() + place.feature);
    std::copy(rows.values.begin(), rows.values.end(), data_.values.begin() + place.feature);
    std::copy(rows.labels.begin(), rows.labels.end(), data_.labels.begin() + place.label);
  }

  TextRows<Label>& part(int member) { return parts_[static_cast<std::size_t>(member)]; }

  const Dialect& dialect_;
  const std::string& name_;
  Team team_;
  std::vector<TextRows<Label>> parts_;
  ReadArrays<Label> data_;
  std::size_t lines_ = 0;
};

/// The limit that the model (`option`, 0: none) and the header (0: none) set together.
IndexLimit limit_of(std::uint32_t option, std::uint64_t header, bool has_header);

}  // namespace evener
