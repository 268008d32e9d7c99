// A strategy as a user writes it: NAME:option=value:option=value.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/nearest.h"
#include "evener/policy/catalogue.h"

namespace evener {

namespace {

using Options = std::vector<StrategyOption>;

const StrategyOption& find_option(const Strategy& strategy, const Options& options,
                                  const std::string& name) {
  std::string dashed = name;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  std::vector<std::string> names;
  for (const auto& option : options) {
    if (option.name == dashed) return option;
    names.push_back(option.name);
  }
  const std::string valid =
      names.empty() ? "it has none" : fmt::format("it has {}", fmt::join(names, ", "));
  throw UsageError(fmt::format("strategy {} has no option '{}'{}; {}", strategy.name, name,
                               did_you_mean(dashed, names), valid));
}

}  // namespace

StrategyChoice parse_strategy(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> given;
  const std::size_t colon = text.find(':');
  StrategyChoice choice{&find_strategy(text.substr(0, colon)), {}};
  for (std::size_t at = colon; at != std::string::npos;) {
    const std::size_t next = text.find(':', at + 1);
    const std::string part = text.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) {
      throw UsageError(fmt::format("strategy '{}': '{}' is not option=value", text, part));
    }
    given.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    at = next;
  }
  const Options options = options_of(*choice.strategy);
  for (const auto& option : options) choice.values.set(option, option.value);
  // The preset is applied first, wherever it is written: the other options override it.
  for (const auto& [name, value] : given) {
    if (name != "preset") continue;
    choice.values.set(find_option(*choice.strategy, options, name), value);
    for (const auto& preset : choice.strategy->presets) {
      if (preset.name != value) continue;
      for (const auto& [key, text_] : preset.values) {
        choice.values.set(find_option(*choice.strategy, options, key), text_);
      }
    }
  }
  for (const auto& [name, value] : given) {
    if (name != "preset") {
      choice.values.set(find_option(*choice.strategy, options, name), value);
    }
  }
  return choice;
}

std::string StrategyChoice::text() const {
  std::string text = strategy->name;
  std::map<std::string, std::string> of_preset;
  for (const auto& preset : strategy->presets) {
    if (values.is("preset", preset.name.c_str())) of_preset = preset.values;
  }
  for (const auto& option : options_of(*strategy)) {
    const std::string& value = values.word(option.name);
    const auto found = of_preset.find(option.name);
    const std::string& usual = found == of_preset.end() ? option.value : found->second;
    if (value != usual) text += ":" + option.name + "=" + value;
  }
  return text;
}

std::vector<std::string> StrategyChoice::batch_options() const {
  const std::vector<std::string>& names = strategy->batch_options;
  const bool derived = std::any_of(names.begin(), names.end(),
                                   [&](const auto& name) { return values.is(name, "auto"); });
  return derived ? std::vector<std::string>{} : names;
}

std::string StrategyChoice::hint(const HintSetup& setup) const {
  return strategy->hint ? strategy->hint(values, setup) : "";
}

bool StrategyChoice::overwrites() const {
  return strategy->overwrites && strategy->overwrites(values);
}

Compression StrategyChoice::compression() const {
  return strategy->compression ? strategy->compression(values) : Compression{};
}

GossipRule StrategyChoice::gossip() const {
  if (!strategy->gossip) throw Error(fmt::format("strategy {} has no peers", strategy->name));
  return strategy->gossip(values);
}

}  // namespace evener
