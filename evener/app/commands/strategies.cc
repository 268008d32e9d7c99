// evener strategies
#include <memory>

#include <nlohmann/json.hpp>

#include "evener/app/commands/commands.h"
#include "evener/app/shell/output.h"
#include "evener/core/error.h"
#include "evener/policy/catalogue.h"

namespace evener {

namespace {

constexpr const char* kStrategiesExamples =
    "Examples:\n"
    "  evener strategies\n"
    "  evener strategies adaptive-sgd\n"
    "  evener train data/ --devices cpu:1,cpu:1 --strategy adaptive-sgd:gamma=0";

struct StrategiesArgs {
  std::string name;
  bool markdown = false, json = false;
};

nlohmann::ordered_json strategy_json(const Strategy& strategy) {
  nlohmann::ordered_json row{{"name", strategy.name},
                             {"line", strategy.line},
                             {"paper", strategy.paper},
                             {"of", is_for_nodes(strategy) ? "nodes" : "devices"},
                             {"composes_with", names_of(!is_for_nodes(strategy))}};
  row["options"] = nlohmann::ordered_json::array();
  for (const auto& option : options_of(strategy)) {
    row["options"].push_back({{"name", option.name},
                              {"default", option.value},
                              {"choices", option.choices},
                              {"help", option.help}});
  }
  return row;
}

std::string catalogue_json(const std::string& name) {
  if (!name.empty()) return strategy_json(find_strategy(name)).dump(2) + "\n";
  auto rows = nlohmann::ordered_json::array();
  for (const auto& strategy : strategies()) rows.push_back(strategy_json(strategy));
  return rows.dump(2) + "\n";
}

void run_strategies(const StrategiesArgs& args) {
  if (args.json && args.markdown) throw UsageError("--json and --markdown: choose one");
  if (args.markdown && !args.name.empty()) {
    throw UsageError("--markdown prints all strategies: leave " + args.name + " out");
  }
  if (args.json) return print(catalogue_json(args.name));
  if (args.markdown) return print(strategies_markdown());
  if (!args.name.empty()) return print_text(strategy_text(find_strategy(args.name)));
  print_text(strategies_text() +
             "\nOptions of one: evener strategies NAME. Use one: evener train DATA "
             "--strategy NAME --devices cpu:1,cpu:1\n");
}

}  // namespace

void add_strategies(CLI::App& app, Shell&) {
  auto* command =
      app.add_subcommand("strategies", "list the strategies that train on several devices");
  command->footer(kStrategiesExamples);
  auto args = std::make_shared<StrategiesArgs>();
  command->add_option("NAME", args->name, "show this one with its options");
  command->add_flag("--json", args->json, "as JSON");
  command->add_flag("--markdown", args->markdown, "all of them, as in docs/strategy_options.md");
  command->callback([args] { run_strategies(*args); });
}

}  // namespace evener
