// The catalogue for people.
#include <fmt/format.h>

#include "evener/policy/catalogue.h"

namespace evener {

namespace {

std::string valid_values(const StrategyOption& option) {
  if (!option.choices.empty()) return fmt::format("{}", fmt::join(option.choices, ", "));
  return option.high >= kMostRows ? fmt::format("{} or more", option.low)
                                  : fmt::format("{} .. {}", option.low, option.high);
}

}  // namespace

std::string strategies_text() {
  std::string text;
  for (const auto& strategy : strategies()) {
    text += fmt::format("{:<18} {}\n", strategy.name, strategy.line);
  }
  return text;
}

std::string strategy_text(const Strategy& strategy) {
  std::string text = fmt::format("{}: {}\n", strategy.name, strategy.line);
  if (!strategy.paper.empty()) text += fmt::format("from: {}\n", strategy.paper);
  for (const auto& option : options_of(strategy)) {
    text += fmt::format("  {:<24}{:<12}{} [{}]\n", option.name, option.value, option.help,
                        valid_values(option));
  }
  return text;
}

std::string strategies_markdown() {
  std::string text;
  for (const auto& strategy : strategies()) {
    text += fmt::format("\n### `{}`\n\n{}{}.\n", strategy.name, strategy.line,
                        strategy.paper.empty() ? "" : " (" + strategy.paper + ")");
    const auto options = options_of(strategy);
    if (options.empty()) continue;
    text += "\n| option | default | `released` | valid | meaning |\n|---|---|---|---|---|\n";
    for (const auto& option : options) {
      const auto released = strategy.released.find(option.name);
      text += fmt::format("| `{}` | {} | {} | {} | {} |\n", option.name, option.value,
                          released == strategy.released.end() ? "" : released->second,
                          valid_values(option), option.help);
    }
  }
  return text;
}

}  // namespace evener
