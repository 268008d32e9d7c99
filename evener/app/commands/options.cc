// evener options: the option table for the documentation and for other programs.
#include "evener/run/options/options.h"

#include <memory>

#include <nlohmann/json.hpp>

#include "evener/app/commands/commands.h"
#include "evener/app/shell/output.h"
#include "evener/core/error.h"
#include "evener/run/options/applicable.h"
#include "evener/run/options/config.h"

namespace evener {

namespace {

const char* kind_name(OptionKind kind) {
  switch (kind) {
    case OptionKind::flag:
      return "flag";
    case OptionKind::integer:
      return "integer";
    case OptionKind::real:
      return "real";
    case OptionKind::text:
      return "text";
    case OptionKind::path:
      return "path";
    case OptionKind::choice:
      return "choice";
    case OptionKind::list:
      return "list";
  }
  return "?";
}

std::string table_json() {
  const TrainOptions defaults;
  auto rows = nlohmann::ordered_json::array();
  for (const auto& info : train_option_table()) {
    rows.push_back({{"name", info.name},
                    {"group", info.group},
                    {"kind", kind_name(info.kind)},
                    {"default", info.get(defaults)},
                    {"unit", info.unit},
                    {"valid", info.range},
                    {"choices", info.choices},
                    {"modes", applicable_modes(info)},
                    {"help", info.help}});
  }
  return rows.dump(2) + "\n";
}

}  // namespace

void add_options(CLI::App& app, Shell&) {
  auto* command = app.add_subcommand("options", "print all options and their defaults");
  command->footer(
      "Examples:\n"
      "  evener options > recipe.toml   # a file for --config\n"
      "  evener options --json");
  command->group("");  // hidden from the list of commands: it is used to generate documentation
  struct Form {
    bool markdown = false, json = false;
  };
  auto form = std::make_shared<Form>();
  command->add_flag("--markdown", form->markdown, "as docs/options.md");
  command->add_flag("--json", form->json, "as JSON");
  command->callback([form] {
    if (form->json && form->markdown) throw UsageError("--json and --markdown: choose one");
    print(form->json ? table_json() : form->markdown ? options_markdown() : default_config_text());
  });
}

}  // namespace evener
