// The catalogue as text for users.
#include <fmt/format.h>

#include "evener/policy/catalogue.h"

namespace evener {

namespace {

std::string valid_values(const StrategyOption& option) {
  if (!option.choices.empty()) return fmt::format("{}", fmt::join(option.choices, ", "));
  return option.high >= kMostRows ? fmt::format("{} or more", option.low)
                                  : fmt::format("{} .. {}", option.low, option.high);
}

std::string lines_of(bool for_nodes) {
  std::string text;
  for (const auto& strategy : strategies()) {
    if (is_for_nodes(strategy) != for_nodes) continue;
    text += fmt::format("{:<18} {}\n", strategy.name, strategy.line);
  }
  return text;
}

/// For the table of pairs.
std::string pair_text(const Strategy& inside, const Strategy& between) {
  if (!composes(inside, between)) return "-";
  return inside.sharing == Sharing::single ? "1" : "yes";
}

/// Calls row(inside, cells) for each strategy of devices, with one cell per strategy of nodes.
template <class F>
void for_pairs(F row) {
  for (const auto& inside : names_of(false)) {
    std::vector<std::string> cells;
    for (const auto& between : names_of(true)) {
      cells.push_back(pair_text(find_strategy(inside), find_strategy(between)));
    }
    row(inside, cells);
  }
}

std::string pairs_text() {
  const auto columns = names_of(true);
  const auto line = [&](const std::string& name, const std::vector<std::string>& cells) {
    std::string text = fmt::format("{:<18}", name);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      text += fmt::format(" {:<{}}", cells[i], columns[i].size());
    }
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string text = line("", columns);
  for_pairs([&](const auto& inside, const auto& cells) { text += line(inside, cells); });
  return text;
}

std::string pairs_markdown() {
  const auto columns = names_of(true);
  std::string text = fmt::format("| inside a node | `{}` |\n|---", fmt::join(columns, "` | `"));
  for (std::size_t i = 0; i < columns.size(); ++i) text += "|---";
  text += "|\n";
  for_pairs([&](const auto& inside, const auto& cells) {
    text += fmt::format("| `{}` | {} |\n", inside, fmt::join(cells, " | "));
  });
  return text + "\n1: for a node that has one device.\n";
}

}  // namespace

std::string strategies_text() {
  return "For the devices of one machine:\n\n" + lines_of(false) +
         "\nFor nodes, and for devices that stand for nodes:\n\n" + lines_of(true) +
         "\nInside a node with several devices (rows) and between nodes (columns):\n\n" +
         pairs_text() + "\n1: for a node that has one device\n";
}

std::string strategy_text(const Strategy& strategy) {
  std::string text = fmt::format("{}: {}\n", strategy.name, strategy.line);
  if (!strategy.paper.empty()) text += fmt::format("from: {}\n", strategy.paper);
  text += is_for_nodes(strategy)
              ? "for nodes; several devices of a node train by one of: "
              : "for the devices of one machine; such machines, as nodes, train by one of: ";
  text += fmt::format("{}\n", fmt::join(names_of(!is_for_nodes(strategy)), ", "));
  for (const auto& option : options_of(strategy)) {
    text += fmt::format("  {:<24}{:<12}{} [{}]\n", option.name, option.value, option.help,
                        valid_values(option));
  }
  return text;
}

std::string strategies_markdown() {
  std::string text = "\n### Which go together\n\n" + pairs_markdown();
  for (const auto& strategy : strategies()) {
    text += fmt::format("\n### `{}`\n\n{}{}.\n", strategy.name, strategy.line,
                        strategy.paper.empty() ? "" : " (" + strategy.paper + ")");
    const auto options = options_of(strategy);
    if (options.empty()) continue;
    // A column for each preset that changes something.
    std::vector<const Preset*> presets;
    for (const auto& preset : strategy.presets) {
      if (!preset.values.empty()) presets.push_back(&preset);
    }
    text += "\n| option | default |";
    for (const Preset* preset : presets) text += fmt::format(" `{}` |", preset->name);
    text += " valid | meaning |\n|---|---|---|---|";
    for (std::size_t i = 0; i < presets.size(); ++i) text += "---|";
    text += "\n";
    for (const auto& option : options) {
      text += fmt::format("| `{}` | {} |", option.name, option.value);
      for (const Preset* preset : presets) {
        const auto found = preset->values.find(option.name);
        text += fmt::format(" {} |", found == preset->values.end() ? "" : found->second);
      }
      text += fmt::format(" {} | {} |\n", valid_values(option), option.help);
    }
  }
  return text;
}

}  // namespace evener
