#include "evener/app/options/table_options.h"

#include <cstdint>
#include <functional>

#include <fmt/format.h>

#include "evener/run/options/applicable.h"
#include "evener/run/options/option_builders.h"

namespace evener {

namespace {

std::string value_name(const OptionInfo& info, const CommandText& own) {
  if (!own.value_name.empty()) return own.value_name;
  if (!info.value_name.empty()) return info.value_name;
  switch (info.kind) {
    case OptionKind::integer:
      return "N";
    case OptionKind::real:
      return "X";
    case OptionKind::path:
      return "PATH";
    case OptionKind::list:
      return "N,...";
    default:
      return "WORD";
  }
}

/// Meaning, unit, choices and default, for the help.
std::string description(const OptionInfo& info, const CommandText& own) {
  std::string text = own.help.empty() ? info.help : own.help;
  if (!info.unit.empty()) text += " [" + info.unit + "]";
  if (info.kind == OptionKind::choice && info.value_name.empty()) text += "; one of " + info.range;
  std::string value = own.default_text.empty() ? info.get(TrainOptions{}) : own.default_text;
  if (value.empty()) value = info.default_text;
  if (value.empty()) return text;
  if (info.kind == OptionKind::flag) return text + (value == "true" ? " (on)" : " (off)");
  return text + " (" + value + ")";
}

CommandText text_in(const OptionInfo& info, Command command) {
  const auto found = info.texts.find(command);
  return found == info.texts.end() ? CommandText{} : found->second;
}

bool has_reason(const OptionInfo& info, Command command) {
  for (const auto& exclusion : info.exclusions) {
    if (!(exclusion.modes & modes_of(command)).empty()) return true;
  }
  return false;
}

/// Commands with few options list them under one heading.
bool has_groups(Command command) {
  return !(modes_of(command) & kTrainingModes).empty();
}

bool has_name(const CLI::App& command, Command which) {
  return command_name(which) == command.get_name();
}

void shorten_help(CLI::App& command, Command which) {
  for (const auto& info : train_option_table()) {
    auto* option = command.get_option_no_throw("--" + info.name);
    if (option == nullptr || option->get_group().empty()) continue;
    const bool common = !(info.common_modes & modes_of(which)).empty();
    option->group(common ? info.question : "");
  }
  command.get_option("--config")->group(kWhichResult);
  command.footer(fmt::format("`evener {} --help all` shows every option.\n\n{}", command.get_name(),
                             command.get_footer()));
}

}  // namespace

CLI::Option* add_table_option(CLI::App& command, const OptionInfo& info,
                              const std::function<void(const std::string&)>& set,
                              const CommandText& own) {
  if (info.kind == OptionKind::flag) {
    return command.add_flag_function(
        fmt::format("--{0},!--no-{0}", info.name),
        [set](std::int64_t count) { set(count > 0 ? "true" : "false"); }, description(info, own));
  }
  const std::string name = info.positional && !own.by_name ? "DATA"
                           : info.shorthand.empty()        ? "--" + info.name
                                                    : "-" + info.shorthand + ",--" + info.name;
  return command.add_option_function<std::string>(name, set, description(info, own))
      ->type_name(value_name(info, own));
}

void add_table_options(CLI::App& command, Command which, GivenOptions& given) {
  for (const auto& info : train_option_table()) {
    const bool applies = !(info.modes & modes_of(which)).empty();
    if (!applies && !has_reason(info, which)) continue;
    const auto keep = [&given, key = info.name](const std::string& text) {
      given.texts[key] = text;
    };
    auto* option = add_table_option(command, info, keep, text_in(info, which));
    if (!applies) {
      option->group("");
    } else if (has_groups(which)) {
      option->group(info.group);
    }
  }
  if (which == Command::status) return;
  auto* config = command
                     .add_option("--config", given.config,
                                 "TOML file of options, named as here; the command line overrides "
                                 "it")
                     ->type_name("FILE");
  if (has_groups(which)) config->group("Output");
}

void shorten_help(CLI::App& command) {
  for (const Mode mode : all_modes()) {
    const Command which = command_of(mode);
    if (has_name(command, which) && has_groups(which)) return shorten_help(command, which);
  }
}

}  // namespace evener
