#include "evener/data/text_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace evener {

std::string quoted_token(const char* p) {
  constexpr int kLongest = 40;
  std::string text = "'";
  for (int i = 0; i < kLongest && !ends_token(p); ++i, ++p) {
    const auto byte = static_cast<unsigned char>(*p);
    if (byte >= 0x20 && byte < 0x7F) {
      text += *p;
    } else {
      text += fmt::format("\\x{:02x}", byte);
    }
  }
  return text + (ends_token(p) ? "'" : "...'");
}

void fail_index(const char* token, std::uint64_t index, std::uint64_t first) {
  const std::string found = quoted_token(token);
  const char* p = token;
  while (is_digit(*p)) ++p;
  if (p == token) {
    throw LineError{
        fmt::format("found {} where index:value should stand (the index is a number "
                    "from {})",
                    found, first)};
  }
  if (*p != ':') throw LineError{fmt::format("found {} where index:value should stand", found)};
  throw LineError{fmt::format("the index of {} is {}, but indices of this format begin with {}",
                              found, index, first)};
}

void fail_limit(const char* kind, std::uint64_t index, std::uint64_t first,
                const IndexLimit& limit) {
  if (limit.whose.empty()) {
    throw LineError{fmt::format("{} {} is too large (the largest possible is {})", kind,
                                index + first, limit.limit - 1 + first)};
  }
  throw LineError{fmt::format("{} {} is too large: {} has only {}, numbered from {}", kind,
                              index + first, limit.whose, limit.limit, first)};
}

const char* parse_long_value(const char* p, float& value) {
  const char* end = p;
  while (!ends_token(end)) ++end;
  if (parse_any_float(p, end, value) != end || p == end) {
    throw LineError{fmt::format("the value {} is not a number", quoted_token(p))};
  }
  if (!std::isfinite(value)) {
    throw LineError{fmt::format("the value {} is not finite, or too large", quoted_token(p))};
  }
  return end;
}

void sort_features(std::uint32_t* indices, float* values, std::size_t count, std::uint64_t first) {
  std::vector<std::pair<std::uint32_t, float>> row(count);
  for (std::size_t i = 0; i < count; ++i) row[i] = {indices[i], values[i]};
  std::sort(row.begin(), row.end(), [](auto& a, auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && row[i].first == row[i - 1].first) {
      throw LineError{
          fmt::format("feature index {} stands twice in the row", row[i].first + first)};
    }
    indices[i] = row[i].first;
    values[i] = row[i].second;
  }
}

}  // namespace evener
