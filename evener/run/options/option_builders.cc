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

constexpr double kLargestReal = std::numeric_limits<double>::max();

[[noreturn]] void refuse(const std::string& name, const std::string& text,
                         const std::string& valid) {
  throw UsageError(fmt::format("--{}: '{}' is not valid; {}", name, text, valid));
}

OptionInfo info_of(const OptionHead& head, OptionKind kind) {
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
std::string integer_range(T low, T high) {
  // A limit that is only the range of the integer type is not shown.
  const bool bounded = high < static_cast<T>(std::numeric_limits<int>::max());
  return bounded ? fmt::format("{} .. {}", low, high) : fmt::format("{} or more", low);
}

/// Whether the text is a number that the type cannot hold.
template <class T>
bool is_out_of_range(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  return problem == std::errc::result_out_of_range && stop == end && text.front() != '-';
}

template <class T>
T parse_integer(const std::string& name, const std::string& text, T low, T high) {
  T value{};
  const bool good = parse_number(text, value) && value >= low && value <= high;
  if (good) return value;
  const bool too_large = is_out_of_range<T>(text) || (parse_number(text, value) && value > high);
  refuse(name, text,
         too_large ? fmt::format("the largest number is {}", high)
                   : "a whole number, " + integer_range(low, high) + ", is needed");
}

template <class T>
Row any_integer(OptionHead head, Field<T> field, T low, T high) {
  OptionInfo info = info_of(head, OptionKind::integer);
  info.range = integer_range(low, high);
  info.get = [field](const TrainOptions& o) { return fmt::to_string(field.in(o)); };
  info.set = [field, low, high, name = info.name](TrainOptions& o, const std::string& text) {
    field.in(o) = parse_integer(name, text, low, high);
  };
  return {info};
}

Row any_text(OptionHead head, OptionKind kind, Field<std::string> field) {
  OptionInfo info = info_of(head, kind);
  info.get = [field](const TrainOptions& o) { return field.in(o); };
  info.set = [field](TrainOptions& o, const std::string& text) { field.in(o) = text; };
  return {info};
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

Need condition(std::function<bool(const TrainOptions&)> holds, std::string what) {
  return [holds = std::move(holds), what = std::move(what)](const TrainOptions& options) {
    return holds(options) ? std::string() : what;
  };
}

Row Row::shaping() const {
  Row row = *this;
  row.info.shapes_model = true;
  return row;
}

Row Row::per_call() const {
  Row row = *this;
  row.info.of_run = false;
  return row;
}

Row Row::short_name(const char* shorthand) const {
  Row row = *this;
  row.info.shorthand = shorthand;
  return row;
}

Row Row::positional() const {
  Row row = *this;
  row.info.positional = true;
  return row;
}

Row Row::value(const char* name) const {
  Row row = *this;
  row.info.value_name = name;
  return row;
}

Row Row::common(const char* question, ModeSet modes) const {
  Row row = *this;
  row.info.question = question;
  row.info.common_modes = modes;
  return row;
}

Row Row::default_is(const char* text) const {
  Row row = *this;
  row.info.default_text = text;
  return row;
}

Row Row::only(ModeSet modes) const {
  Row row = *this;
  row.info.modes = modes;
  return row;
}

Row Row::also(ModeSet modes) const {
  Row row = *this;
  row.info.modes = row.info.modes | modes;
  return row;
}

Row Row::except(ModeSet modes, const std::string& why) const {
  Row row = *this;
  row.info.modes = row.info.modes.without(modes);
  row.info.exclusions.push_back({modes, why});
  return row;
}

Row Row::needs(const Need& need) const {
  Row row = *this;
  row.info.needs.push_back(need);
  return row;
}

Row Row::in(Command command, CommandText text) const {
  Row row = *this;
  row.info.texts[command] = std::move(text);
  return row;
}

Row flag_option(OptionHead head, Field<bool> field) {
  OptionInfo info = info_of(head, OptionKind::flag);
  info.range = "true or false";
  info.get = [field](const TrainOptions& o) { return field.in(o) ? "true" : "false"; };
  info.set = [field, name = info.name](TrainOptions& o, const std::string& text) {
    if (text != "true" && text != "false") refuse(name, text, "valid: true, false");
    field.in(o) = text == "true";
  };
  return {info};
}

Row text_option(OptionHead head, Field<std::string> field) {
  return any_text(head, OptionKind::text, field);
}

Row path_option(OptionHead head, Field<std::string> field) {
  return any_text(head, OptionKind::path, field);
}

Row choice_option(OptionHead head, Field<std::string> field, std::vector<std::string> choices) {
  OptionInfo info = any_text(head, OptionKind::choice, field).info;
  info.choices = choices;
  info.range = fmt::format("{}", fmt::join(choices, ", "));
  info.set = [field, choices = std::move(choices), name = info.name, range = info.range](
                 TrainOptions& o, const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      refuse(name, text, "valid: " + range + did_you_mean(text, choices));
    }
    field.in(o) = text;
  };
  return {info};
}

Row ablation_option(OptionHead head, Field<std::string> field) {
  OptionInfo info = info_of(head, OptionKind::text);
  const std::string stages = fmt::format("{}", fmt::join(kShortlistStages, ", "));
  info.range = stages + ", or none";
  info.get = [field](const TrainOptions& o) { return field.in(o); };
  info.set = [field, stages, name = info.name](TrainOptions& o, const std::string& text) {
    if (text != "none") {
      for (const auto& part : split(text, ',')) {
        if (std::find(kShortlistStages.begin(), kShortlistStages.end(), part) ==
            kShortlistStages.end()) {
          refuse(name, text, "the stages are " + stages);
        }
      }
    }
    field.in(o) = text;
  };
  return {info};
}

Row list_option(OptionHead head, Field<std::vector<std::uint32_t>> field) {
  OptionInfo info = info_of(head, OptionKind::list);
  info.range = "numbers separated by commas, or none";
  info.get = [field](const TrainOptions& o) {
    return field.in(o).empty() ? "none" : fmt::format("{}", fmt::join(field.in(o), ","));
  };
  info.set = [field, name = info.name](TrainOptions& o, const std::string& text) {
    std::vector<std::uint32_t> values;
    if (text != "none") {
      for (const auto& part : split(text, ',')) {
        std::uint32_t value = 0;
        if (is_out_of_range<std::uint32_t>(part)) {
          refuse(
              name, text,
              fmt::format("the largest number is {}", std::numeric_limits<std::uint32_t>::max()));
        }
        if (!parse_number(part, value) || value == 0) {
          refuse(name, text, "positive whole numbers separated by commas, or 'none', are needed");
        }
        values.push_back(value);
      }
    }
    field.in(o) = std::move(values);
  };
  return {info};
}

Row real_option(OptionHead head, Field<double> field, RealRange range) {
  OptionInfo info = info_of(head, OptionKind::real);
  const std::string low = (range.open_low ? "above " : "at least ") + fmt::format("{}", range.low);
  info.range =
      std::isinf(range.high)
          ? low
          : fmt::format("{}, {} {}", low, range.open_high ? "below" : "at most", range.high);
  info.get = [field](const TrainOptions& o) { return fmt::format("{}", field.in(o)); };
  info.set = [field, range, name = info.name, words = info.range](TrainOptions& o,
                                                                  const std::string& text) {
    double value = 0;
    const bool good = parse_number(text, value) && std::isfinite(value) &&
                      (range.open_low ? value > range.low : value >= range.low) &&
                      (range.open_high ? value < range.high : value <= range.high);
    if (!good && is_out_of_range<double>(text) && std::isinf(range.high)) {
      refuse(name, text, fmt::format("the largest number is {:g}", kLargestReal));
    }
    if (!good) refuse(name, text, "a number, " + words + ", is needed");
    field.in(o) = value;
  };
  return {info};
}

Row integer_option(OptionHead head, Field<std::uint32_t> field, std::uint32_t low,
                   std::uint32_t high) {
  return any_integer(head, field, low, high);
}
Row integer_option(OptionHead head, Field<std::uint64_t> field, std::uint64_t low,
                   std::uint64_t high) {
  return any_integer(head, field, low, high);
}
Row integer_option(OptionHead head, Field<int> field, int low, int high) {
  return any_integer(head, field, low, high);
}

int parse_whole_number(const std::string& name, const std::string& text, int low, int high) {
  return parse_integer(name, text, low, high);
}

}  // namespace evener
