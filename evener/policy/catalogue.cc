#include "evener/policy/catalogue.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/nearest.h"
#include "evener/policy/built_in_strategies.h"
#include "evener/policy/row_check.h"

namespace evener {

namespace {

void add_row(std::list<Strategy>& rows, Strategy row) {
  check_row(row, rows);
  const auto key = [](const Strategy& strategy) { return std::tie(strategy.order, strategy.name); };
  const auto after = std::find_if(rows.begin(), rows.end(),
                                  [&](const auto& other) { return key(row) < key(other); });
  rows.insert(after, std::move(row));
}

/// A list, so that rows do not move when others are added: StrategyChoice points to them.
std::list<Strategy>& catalogue() {
  static std::list<Strategy> rows = [] {
    std::list<Strategy> all;
    for (auto& row : built_in_strategies()) add_row(all, std::move(row));
    return all;
  }();
  return rows;
}

/// The option of every strategy with several sets of defaults.
StrategyOption preset_option(const std::vector<Preset>& presets) {
  std::vector<std::string> names;
  std::string help = "defaults of ";
  for (const auto& preset : presets) {
    if (!names.empty()) help += names.size() + 1 == presets.size() ? ", or of " : ", of ";
    names.push_back(preset.name);
    help += preset.source;
  }
  return word_option("preset", names, help);
}

}  // namespace

std::vector<StrategyOption> options_of(const Strategy& strategy) {
  if (strategy.presets.empty()) return strategy.options;
  return join_options({preset_option(strategy.presets)}, strategy.options);
}

const std::list<Strategy>& strategies() {
  return catalogue();
}

void register_strategy(Strategy strategy) {
  add_row(catalogue(), std::move(strategy));
}

const Strategy& find_strategy(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& strategy : strategies()) {
    if (strategy.name == name) return strategy;
    names.push_back(strategy.name);
  }
  throw UsageError(fmt::format("unknown strategy '{}'{}; valid: {}", name,
                               did_you_mean(name, names), fmt::join(names, ", ")));
}

std::string automatic_strategy(AutoFor what) {
  for (const auto& strategy : strategies()) {
    for (const auto& choice : strategy.automatic) {
      if (choice.what != what) continue;
      return choice.options.empty() ? strategy.name : strategy.name + ":" + choice.options;
    }
  }
  throw Error("no strategy is automatic here");
}

void check_workers(const Strategy& strategy, const std::vector<WorkerTraits>& workers) {
  if (workers.empty()) throw UsageError("no device to train on");
  if (strategy.sharing == Sharing::single && workers.size() > 1) {
    throw UsageError(
        fmt::format("strategy {} trains on one device, and {} are given: choose "
                    "another strategy (evener strategies) or one device",
                    strategy.name, workers.size()));
  }
  if (strategy.sharing != Sharing::in_place) return;
  for (const auto& worker : workers) {
    if (!worker.in_place) {
      throw UsageError(
          fmt::format("strategy {} works in place on CPU devices only, and {} is not "
                      "one",
                      strategy.name, worker.name));
    }
  }
}

}  // namespace evener
