#include "evener/policy/strategy_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/nearest.h"

namespace evener {

namespace {

double parse_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nan("");
  return value;
}

}  // namespace

StrategyOption number_option(std::string name, std::string value, double low, double high,
                             std::string help) {
  return {std::move(name), std::move(value), std::move(help), {}, low, high};
}

StrategyOption word_option(std::string name, std::vector<std::string> choices, std::string help) {
  std::string value = choices.front();
  return {std::move(name), std::move(value), std::move(help), std::move(choices), 0, 0};
}

std::vector<StrategyOption> join_options(std::vector<StrategyOption> first,
                                         const std::vector<StrategyOption>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void StrategyValues::set(const StrategyOption& option, const std::string& text) {
  if (!option.choices.empty()) {
    if (std::find(option.choices.begin(), option.choices.end(), text) == option.choices.end()) {
      throw UsageError(fmt::format("{}: '{}' is not one of {}{}", option.name, text,
                                   fmt::join(option.choices, ", "),
                                   did_you_mean(text, option.choices)));
    }
  } else if (text != "auto" || option.value != "auto") {
    const double value = parse_number(text);
    if (!(value >= option.low && value <= option.high)) {
      throw UsageError(fmt::format("{}: '{}' is not a number in {} .. {}", option.name, text,
                                   option.low, option.high));
    }
  }
  texts_[option.name] = text;
}

double StrategyValues::number(const std::string& name) const {
  return parse_number(word(name));
}

double StrategyValues::number(const std::string& name, double otherwise) const {
  return word(name) == "auto" ? otherwise : number(name);
}

const std::string& StrategyValues::word(const std::string& name) const {
  const auto found = texts_.find(name);
  if (found == texts_.end()) {
    throw Error(
        fmt::format("a policy asks for the option '{}', which its row does not list", name));
  }
  return found->second;
}

Preset evener_preset() {
  return {"evener", "our measurements"};
}

Preset paper_preset(std::map<std::string, std::string> values) {
  return {"paper", "the paper", std::move(values)};
}

Preset released_preset(std::map<std::string, std::string> values) {
  return {"released", "its authors' code", std::move(values)};
}

}  // namespace evener
