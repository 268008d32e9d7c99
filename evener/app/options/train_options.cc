#include "evener/app/options/train_options.h"

#include <cstdint>
#include <functional>

#include <fmt/format.h>

#include "evener/core/error.h"

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
  const std::string own = info.get(TrainOptions{});
  const std::string& value = own.empty() ? info.default_text : own;
  if (value.empty()) return text;
  if (info.kind == OptionKind::flag) return text + (value == "true" ? " (on)" : " (off)");
  return text + " (" + value + ")";
}

using SetText = std::function<void(const std::string&)>;

CLI::Option* add_option(CLI::App& command, const OptionInfo& info, const SetText& set) {
  if (info.kind == OptionKind::flag) {
    return command.add_flag_function(
        fmt::format("--{0},!--no-{0}", info.name),
        [set](std::int64_t count) { set(count > 0 ? "true" : "false"); }, description(info));
  }
  const std::string name = info.positional          ? "DATA"
                           : info.shorthand.empty() ? "--" + info.name
                                                    : "-" + info.shorthand + ",--" + info.name;
  return command.add_option_function<std::string>(name, set, description(info))
      ->type_name(value_name(info));
}

}  // namespace

void add_train_options(CLI::App& command, GivenOptions& given, const RefusedOptions& refused) {
  for (const auto& info : train_option_table()) {
    if (const auto found = refused.find(info.name); found != refused.end()) {
      const auto refuse = [message = "--" + info.name + ": " + found->second](const auto&) {
        throw UsageError(message);
      };
      add_option(command, info, refuse)->group("");
    } else {
      const auto keep = [&given, key = info.name](const std::string& text) {
        given.texts[key] = text;
      };
      add_option(command, info, keep)->group(info.group);
    }
  }
  command
      .add_option("--config", given.config,
                  "TOML file of options, named as here; the command line overrides it")
      ->type_name("FILE")
      ->group("Output");
}

}  // namespace evener
