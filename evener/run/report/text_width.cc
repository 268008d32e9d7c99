#include "evener/run/report/text_width.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace evener {

namespace {

struct Span {
  std::uint32_t first, last;
};

// The blocks that matter in label and metric names; exact tables change with every Unicode version.
constexpr std::array<Span, 5> kZeroWidth{{{0x0300, 0x036F},      // combining marks
                                          {0x1AB0, 0x1AFF},      //   extended
                                          {0x200B, 0x200F},      // zero-width spaces and marks
                                          {0x20D0, 0x20FF},      // combining marks for symbols
                                          {0xFE00, 0xFE0F}}};    // variation selectors
constexpr std::array<Span, 9> kDoubleWidth{{{0x1100, 0x115F},    // Hangul Jamo
                                            {0x2E80, 0x303E},    // CJK radicals, punctuation
                                            {0x3041, 0xA4CF},    // kana to Yi
                                            {0xAC00, 0xD7A3},    // Hangul
                                            {0xF900, 0xFAFF},    // CJK compatibility
                                            {0xFE30, 0xFE6F},    //   forms
                                            {0xFF00, 0xFF60},    // full-width forms
                                            {0x1F300, 0x1FAFF},  // pictographs
                                            {0x20000, 0x3FFFD}}};

template <std::size_t N>
bool within(const std::array<Span, N>& spans, std::uint32_t point) {
  return std::any_of(spans.begin(), spans.end(),
                     [&](const Span& s) { return s.first <= point && point <= s.last; });
}

/// Removes one code point from the front; an invalid byte gives one replacement character.
std::uint32_t take_point(std::string_view& text) {
  constexpr std::uint32_t kReplacement = 0xFFFD;
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC0 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                                           : 4;
  std::uint32_t point = length == 1 ? lead : lead & (0xFFU >> (length + 1));
  bool valid = length > 0 && lead < 0xF8 && length <= text.size();
  for (std::size_t i = 1; valid && i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    valid = (next & 0xC0U) == 0x80;
    point = point << 6 | (next & 0x3FU);
  }
  text.remove_prefix(valid ? length : 1);
  return valid ? point : kReplacement;
}

/// The indent of continuation lines.
std::size_t continuation_of(std::string_view line, std::size_t width) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = line.find("  ", begin);
  const std::size_t second = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  const bool room = second != std::string_view::npos && second <= width / 2;
  return room ? second : begin <= width / 2 ? begin : 0;
}

/// The end of the unbreakable unit at `begin`: a cell (between gaps of two spaces) of at most
/// `room` columns, else a word. A percent sign stays with its number.
std::size_t piece_end(std::string_view line, std::size_t begin, std::size_t room) {
  const std::size_t gap = std::min(line.find("  ", begin), line.size());
  if (begin >= 2 && display_columns(line.substr(begin, gap - begin)) <= room) return gap;
  const std::size_t end = std::min(line.find(' ', begin), line.size());
  return line.substr(end, 2) == " %" ? end + 2 : end;
}

/// The length in bytes of the longest prefix of a text that fits into `room` columns.
std::size_t prefix_that_fits(std::string_view text, std::size_t room) {
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view next = rest;
    take_point(next);
    const std::size_t end = text.size() - next.size();
    if (display_columns(text.substr(0, end)) > room) break;
    rest = next;
  }
  return text.size() - rest.size();
}

/// How many bytes of an overlong word fit into `room`: up to a punctuation mark, else as many as
/// fit. Paths and coloured words without such a mark are not broken (0).
std::size_t part_that_fits(std::string_view word, std::size_t room) {
  const std::size_t fits = prefix_that_fits(word, room);
  if (fits == 0) return 0;
  for (const char* marks : {":,/=", "-_.)"}) {
    const std::size_t end = word.find_last_of(marks, fits - 1);
    if (end != std::string_view::npos) return end + 1;
  }
  return word.find_first_of("/\x1b") == std::string_view::npos ? fits : 0;
}

void wrap_line(std::string_view line, std::size_t width, std::string& out) {
  const std::size_t indent = continuation_of(line, width);
  std::size_t column = 0;
  while (!line.empty()) {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    std::string_view word = line.substr(begin, piece_end(line, begin, width - indent) - begin);
    line.remove_prefix(begin + word.size());
    if (column > indent && column + begin + display_columns(word) > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else {
      out.append(begin, ' ');
      column += begin;
    }
    while (column + display_columns(word) > width) {
      const std::size_t part = part_that_fits(word, width - std::min(column, width));
      if (part == 0) break;
      out += word.substr(0, part);
      out += '\n' + std::string(indent, ' ');
      column = indent;
      word.remove_prefix(part);
    }
    out += word;
    column += display_columns(word);
  }
}

}  // namespace

std::size_t display_columns(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    if (text.substr(0, 2) == "\x1b[") {
      const std::size_t end = text.find('m');
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      continue;
    }
    const std::uint32_t point = take_point(text);
    if (point < 0x20 || point == 0x7F || within(kZeroWidth, point)) continue;
    columns += within(kDoubleWidth, point) ? 2 : 1;
  }
  return columns;
}

std::string wrapped(std::string_view text, std::size_t width) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (display_columns(line) <= width) {
      out += line;
    } else {
      wrap_line(line, width, out);
    }
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace evener
