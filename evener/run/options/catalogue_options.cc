// Converts the strategies' options to options of a run.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "evener/policy/catalogue.h"
#include "evener/run/options/option_builders.h"

namespace evener {

namespace {

/// One meaning of an option, and the strategies that share it.
struct Meaning {
  StrategyOption option;
  std::vector<std::string> owners;
};

bool same_meaning(const StrategyOption& a, const StrategyOption& b) {
  return a.value == b.value && a.help == b.help && a.choices == b.choices;
}

/// `text` of each meaning, with the names of the strategies if they differ.
template <class Text>
std::string text_of_each(const std::vector<Meaning>& meanings, const Text& text) {
  std::string first = text(meanings.front().option);
  const bool agree = std::all_of(meanings.begin(), meanings.end(),
                                 [&](const auto& other) { return text(other.option) == first; });
  if (agree) return first;
  std::string all;
  for (const auto& [option, owners] : meanings) {
    all += fmt::format("{}{} ({})", all.empty() ? "" : "; ", text(option), fmt::join(owners, ", "));
  }
  return all;
}

bool are_numbers(const std::vector<Meaning>& meanings) {
  return std::all_of(meanings.begin(), meanings.end(),
                     [](const auto& meaning) { return meaning.option.choices.empty(); });
}

bool has_option(const std::string& strategy, const std::string& name) {
  const auto options = options_of(*parse_strategy(strategy).strategy);
  return std::any_of(options.begin(), options.end(),
                     [&](const StrategyOption& option) { return option.name == name; });
}

OptionInfo strategy_option(const std::vector<Meaning>& meanings) {
  OptionInfo info;
  info.name = meanings.front().option.name;
  info.kind = OptionKind::text;  // numbers too: some may be "auto"
  info.value_name = std::string(are_numbers(meanings) ? "N" : "");
  std::vector<std::string> names;
  for (const auto& [option, owners] : meanings) {
    info.help += fmt::format("{}{}: {}", info.help.empty() ? "" : ". ", fmt::join(owners, ", "),
                             option.help);
    names.insert(names.end(), owners.begin(), owners.end());
  }
  info.range = text_of_each(meanings, [](const StrategyOption& option) {
    return fmt::format("{}", fmt::join(option.choices, ", "));
  });
  info.default_text =
      text_of_each(meanings, [](const StrategyOption& option) { return option.value; });
  info.needs = {condition(
      [name = info.name](const TrainOptions& options) {
        return options.strategy == "auto" || has_option(options.strategy, name);
      },
      fmt::format("needs --strategy {}", fmt::join(names, ", ")))};
  info.get = [name = info.name](const TrainOptions& options) {
    const auto found = options.strategy_options.find(name);
    return found == options.strategy_options.end() ? std::string() : found->second;
  };
  info.set = [name = info.name](TrainOptions& options, const std::string& text) {
    options.strategy_options.erase(name);
    if (text.empty()) return;
    options.strategy_options[name] = text;
  };
  return info;
}

}  // namespace

std::vector<OptionInfo> catalogue_options() {
  std::vector<std::vector<Meaning>> found;  // by name
  for (const auto& strategy : strategies()) {
    for (const auto& option : options_of(strategy)) {
      auto named = std::find_if(found.begin(), found.end(), [&](const auto& meanings) {
        return meanings.front().option.name == option.name;
      });
      if (named == found.end()) named = found.insert(found.end(), std::vector<Meaning>{});
      auto same = std::find_if(named->begin(), named->end(), [&](const auto& meaning) {
        return same_meaning(meaning.option, option);
      });
      if (same == named->end()) same = named->insert(named->end(), Meaning{option, {}});
      same->owners.push_back(strategy.name);
    }
  }
  std::vector<OptionInfo> options;
  options.reserve(found.size());
  for (const auto& meanings : found) options.push_back(strategy_option(meanings));
  return options;
}

}  // namespace evener
