// The first line of multi-label text as the extreme classification repository ships it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace evener {

struct MultilabelHeader {
  std::uint64_t rows, features, labels;
};

/// From the first line of `text` (which needs its '\n'), if that is three integers.
std::optional<MultilabelHeader> parse_multilabel_header(std::string_view text);

}  // namespace evener
