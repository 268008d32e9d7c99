#include "evener/app/options/whole_number.h"

#include <charconv>

#include <fmt/format.h>

namespace evener {

CLI::Validator whole_number(int least, int most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    int value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc{} && stop == end && value >= least && value <= most) return "";
    return fmt::format("'{}' is not valid; a whole number, {} .. {}, is needed", text, least, most);
  };
  return {check, ""};
}

}  // namespace evener
