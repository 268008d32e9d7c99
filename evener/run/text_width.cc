#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "evener/run/progress_bar.h"

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

/// Takes one code point off the front; a byte that is no part of UTF-8 is one replacement sign.
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

}  // namespace evener
