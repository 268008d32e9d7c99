#include "evener/data/text_reader.h"

namespace evener {

std::string_view part_of_lines(std::string_view text, int parts, int part) {
  const auto cut = [&](int at) {
    const std::size_t place = share_of(text.size(), parts, at).begin;
    if (place == 0) return place;
    const std::size_t line_end = text.find('\n', place - 1);
    return line_end == std::string_view::npos ? text.size() : line_end + 1;
  };
  const std::size_t begin = cut(part);
  const std::size_t end = part + 1 == parts ? text.size() : cut(part + 1);
  return text.substr(begin, end - begin);
}

IndexLimit limit_of(std::uint32_t option, std::uint64_t header, bool has_header) {
  IndexLimit limit;
  if (has_header) limit = {header, "the header"};
  if (option > 0 && option < limit.limit) limit = {option, "the model"};
  return limit;
}

}  // namespace evener
