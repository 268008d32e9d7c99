#include "evener/run/options/option_builders.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/nearest.h"

namespace evener {

namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& text,
                         const std::string& valid) {
  throw UsageError(fmt::format("--{}: '{}' is not valid; {}", name, text, valid));
}

OptionInfo row(const OptionHead& head, OptionKind kind) {
  OptionInfo info;
  info.name = head.name;
  info.unit = head.unit;
  info.help = head.help;
  info.kind = kind;
  return info;
}

template <class T>
bool parse_number(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  return problem == std::errc() && stop == end;
}

template <class T>
OptionInfo any_integer(OptionHead head, T TrainOptions::*member, T low, T high) {
  OptionInfo info = row(head, OptionKind::integer);
  // A limit that only the machine's word sets tells the reader nothing.
  const bool bounded = high < static_cast<T>(std::numeric_limits<int>::max());
  info.range = bounded ? fmt::format("{} .. {}", low, high) : fmt::format("{} or more", low);
  info.get = [member](const TrainOptions& o) { return fmt::to_string(o.*member); };
  info.set = [member, low, high, name = info.name, range = info.range](TrainOptions& o,
                                                                       const std::string& text) {
    T value{};
    if (!parse_number(text, value) || value < low || value > high) {
      refuse(name, text, "a whole number, " + range + ", is needed");
    }
    o.*member = value;
  };
  return info;
}

OptionInfo any_text(OptionHead head, OptionKind kind, std::string TrainOptions::*member) {
  OptionInfo info = row(head, kind);
  info.get = [member](const TrainOptions& o) { return o.*member; };
  info.set = [member](TrainOptions& o, const std::string& text) { o.*member = text; };
  return info;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

}  // namespace

OptionInfo flag_option(OptionHead head, bool TrainOptions::*member) {
  OptionInfo info = row(head, OptionKind::flag);
  info.range = "true or false";
  info.get = [member](const TrainOptions& o) { return o.*member ? "true" : "false"; };
  info.set = [member, name = info.name](TrainOptions& o, const std::string& text) {
    if (text != "true" && text != "false") refuse(name, text, "valid: true, false");
    o.*member = text == "true";
  };
  return info;
}

OptionInfo text_option(OptionHead head, std::string TrainOptions::*member) {
  return any_text(head, OptionKind::text, member);
}

OptionInfo path_option(OptionHead head, std::string TrainOptions::*member) {
  return any_text(head, OptionKind::path, member);
}

OptionInfo choice_option(OptionHead head, std::string TrainOptions::*member,
                         std::vector<std::string> choices) {
  OptionInfo info = any_text(head, OptionKind::choice, member);
  info.choices = choices;
  info.range = fmt::format("{}", fmt::join(choices, ", "));
  info.set = [member, choices = std::move(choices), name = info.name, range = info.range](
                 TrainOptions& o, const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      refuse(name, text, "valid: " + range + did_you_mean(text, choices));
    }
    o.*member = text;
  };
  return info;
}

OptionInfo list_option(OptionHead head, std::vector<std::uint32_t> TrainOptions::*member) {
  OptionInfo info = row(head, OptionKind::list);
  info.range = "numbers separated by commas, or none";
  info.get = [member](const TrainOptions& o) {
    return (o.*member).empty() ? "none" : fmt::format("{}", fmt::join(o.*member, ","));
  };
  info.set = [member, name = info.name](TrainOptions& o, const std::string& text) {
    std::vector<std::uint32_t> values;
    if (text != "none") {
      for (const auto& part : split(text, ',')) {
        std::uint32_t value = 0;
        if (!parse_number(part, value) || value == 0) {
          refuse(name, text, "positive whole numbers separated by commas, or 'none', are needed");
        }
        values.push_back(value);
      }
    }
    o.*member = std::move(values);
  };
  return info;
}

OptionInfo real_option(OptionHead head, double TrainOptions::*member, RealRange range) {
  OptionInfo info = row(head, OptionKind::real);
  const std::string low = (range.open_low ? "above " : "at least ") + fmt::format("{}", range.low);
  info.range =
      std::isinf(range.high)
          ? low
          : fmt::format("{}, {} {}", low, range.open_high ? "below" : "at most", range.high);
  info.get = [member](const TrainOptions& o) { return fmt::format("{}", o.*member); };
  info.set = [member, range, name = info.name, words = info.range](TrainOptions& o,
                                                                   const std::string& text) {
    double value = 0;
    const bool good = parse_number(text, value) && std::isfinite(value) &&
                      (range.open_low ? value > range.low : value >= range.low) &&
                      (range.open_high ? value < range.high : value <= range.high);
    if (!good) refuse(name, text, "a number, " + words + ", is needed");
    o.*member = value;
  };
  return info;
}

OptionInfo integer_option(OptionHead head, std::uint32_t TrainOptions::*member, std::uint32_t low,
                          std::uint32_t high) {
  return any_integer(head, member, low, high);
}
OptionInfo integer_option(OptionHead head, std::uint64_t TrainOptions::*member, std::uint64_t low,
                          std::uint64_t high) {
  return any_integer(head, member, low, high);
}
OptionInfo integer_option(OptionHead head, int TrainOptions::*member, int low, int high) {
  return any_integer(head, member, low, high);
}

}  // namespace evener
