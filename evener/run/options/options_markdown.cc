// docs/options.md.
#include <fmt/format.h>

#include "evener/run/options/applicable.h"
#include "evener/run/options/options.h"

namespace evener {

namespace {

/// As code if it can be typed, that is, has no spaces.
std::string in_backticks(const std::string& value) {
  return value.empty() || value.find(' ') != std::string::npos ? value : "`" + value + "`";
}

/// Options of runs are explained by the page; for the others the table lists the commands.
bool says_where(const OptionInfo& info) {
  return !info.modes.contains(Mode::train) || info.group == "Cluster";
}

std::string heading(const OptionInfo& info) {
  const bool where = says_where(info);
  return fmt::format("\n## {}\n\n| option | default | valid | meaning |{}\n|---|---|---|---|{}\n",
                     info.group, where ? " has an effect in |" : "", where ? "---|" : "");
}

std::string row(const OptionInfo& info, const TrainOptions& defaults) {
  const std::string name = info.positional          ? "DATA"
                           : info.shorthand.empty() ? "--" + info.name
                                                    : "-" + info.shorthand + ", --" + info.name;
  const std::string own = info.get(defaults);
  const std::string value = own.empty() ? info.default_text : own;
  return fmt::format("| `{}` | {} | {} | {}{} |{}\n", name, in_backticks(value), info.range,
                     info.help, info.unit.empty() ? "" : " (" + info.unit + ")",
                     says_where(info) ? " " + applicable_modes(info) + " |" : "");
}

}  // namespace

std::string options_markdown() {
  std::string text =
      "# Options\n\n"
      "`evener options --markdown` prints this page. It lists the options of `evener "
      "train`. `simulate`, `compare`, `profile`\n"
      "and `coordinator` have the same options, except those without effect there "
      "(`evener COMMAND --help all`). The last two\n"
      "tables are about clusters and comparisons.\n"
      "\n"
      "The command line overrides `--config FILE`, which overrides the defaults. The "
      "file uses the same names, with dashes or\n"
      "underscores (`learning-rate = 0.001`). `--no-NAME` switches a flag off. An "
      "option that is given and has no effect is an\n"
      "error. A line of a config file that sets an option to its default does not "
      "count as given.\n";
  const TrainOptions defaults;
  std::string group;
  for (const auto& info : train_option_table()) {
    if (info.group != group) {
      group = info.group;
      text += heading(info);
    }
    text += row(info, defaults);
  }
  return text;
}

}  // namespace evener
