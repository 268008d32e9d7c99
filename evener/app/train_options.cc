#include "evener/app/train_options.h"

#include <cstdint>

#include <fmt/format.h>

namespace evener {

namespace {

const char* value_name(const OptionInfo& info) {
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
std::string description(const OptionInfo& info) {
  std::string text = info.help;
  if (!info.unit.empty()) text += " [" + info.unit + "]";
  if (info.kind == OptionKind::choice) text += "; one of " + info.range;
  const std::string value = info.get(TrainOptions{});
  if (value.empty()) return text;
  if (info.kind == OptionKind::flag) return text + (value == "true" ? " (on)" : " (off)");
  return text + " (" + value + ")";
}

void add_option(CLI::App& command, const OptionInfo& info, GivenOptions& given) {
  if (info.kind == OptionKind::flag) {
    command
        .add_flag_function(
            fmt::format("--{0},!--no-{0}", info.name),
            [&given, name = info.name](std::int64_t count) {
              given.texts[name] = count > 0 ? "true" : "false";
            },
            description(info))
        ->group(info.group);
    return;
  }
  const std::string name = info.positional          ? "DATA"
                           : info.shorthand.empty() ? "--" + info.name
                                                    : "-" + info.shorthand + ",--" + info.name;
  command
      .add_option_function<std::string>(
          name, [&given, key = info.name](const std::string& text) { given.texts[key] = text; },
          description(info))
      ->type_name(value_name(info))
      ->group(info.group);
}

}  // namespace

void add_train_options(CLI::App& command, GivenOptions& given) {
  for (const auto& info : train_option_table()) add_option(command, info, given);
  command
      .add_option("--config", given.config,
                  "TOML file of options, named as here; the command line overrides it")
      ->type_name("FILE")
      ->group("Output");
}

}  // namespace evener
