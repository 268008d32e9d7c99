#include "evener/run/options/config.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/run/options/applicable.h"

namespace evener {

namespace {

std::string at(const std::string& path, const toml::source_region& where) {
  return fmt::format("{}:{}: ", path, where.begin.line);
}

/// The text that the command line would have for this value.
std::string value_text(const toml::node& node, const std::string& where) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* whole = node.as_integer()) return fmt::to_string(whole->get());
  if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
  if (const auto* array = node.as_array()) {
    std::string text;
    for (const auto& item : *array) {
      text += (text.empty() ? "" : ",") + value_text(item, where);
    }
    return text.empty() ? "none" : text;
  }
  throw UsageError(where + "a value is needed: text, a number, true, false or a list");
}

std::string toml_value(const OptionInfo& info, const std::string& text) {
  switch (text == "auto" ? OptionKind::text : info.kind) {
    case OptionKind::flag:
    case OptionKind::integer:
      return text;
    case OptionKind::real:
      // TOML distinguishes 1 and 1.0. Both are accepted, but real options are written as 1.0.
      return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
    case OptionKind::list:
      return text == "none" ? "[]" : "[" + text + "]";
    default: {
      std::string quoted = "\"";
      for (const char c : text) {
        if (c == '"' || c == '\\') quoted += '\\';
        const auto byte = static_cast<unsigned char>(c);
        quoted += byte < 0x20 || byte == 0x7F ? fmt::format("\\u{:04X}", byte) : std::string(1, c);
      }
      return quoted + "\"";
    }
  }
}

template <class Keep>
std::string toml_text(std::string text, const TrainOptions& options, const Keep& keep) {
  std::string group;
  for (const auto& info : train_option_table()) {
    if (!info.of_run || !keep(info)) continue;
    if (info.group != group) {
      group = info.group;
      text += "\n# " + group + "\n";
    }
    text += fmt::format("{} = {}\n", info.name, toml_value(info, info.get(options)));
  }
  return text;
}

}  // namespace

std::string read_option_file(const std::string& option, const std::string& path) {
  try {
    return read_whole_file(path);
  } catch (const Error& problem) {
    throw UsageError((option.empty() ? "" : option + " ") + problem.what());
  }
}

std::vector<ConfigLine> read_config_lines(const std::string& path) {
  if (!std::filesystem::exists(path)) throw UsageError(path + ": there is no such config file");
  // A run reads it several times, and a pipe only has its content once.
  if (!std::filesystem::is_regular_file(path)) throw UsageError(path + ": is not a regular file");
  const std::string content = read_whole_file(path);
  toml::table table;
  try {
    table = toml::parse(content, path);
  } catch (const toml::parse_error& problem) {
    throw UsageError(at(path, problem.source()) + std::string(problem.description()));
  }
  std::vector<ConfigLine> lines;
  TrainOptions scratch;
  for (const auto& [key, node] : table) {
    const std::string where = at(path, key.source());
    const OptionInfo& info = find_train_option(std::string(key.str()), where);
    const std::string text = value_text(node, where);
    try {
      info.set(scratch, text);
    } catch (const UsageError& problem) {
      throw UsageError(where + problem.what());
    }
    lines.push_back({info.name, text, where});
  }
  return lines;
}

OptionTexts read_config(const std::string& path) {
  OptionTexts texts;
  for (const auto& line : read_config_lines(path)) texts[line.name] = line.text;
  return texts;
}

std::string config_text(const TrainOptions& options) {
  return toml_text("# The options of this run; `evener train --config` takes this file.\n", options,
                   [&](const OptionInfo& info) {
                     return why_not_applicable(info, options, options.mode).empty() &&
                            !info.get(options).empty();
                   });
}

std::string default_config_text() {
  return toml_text("# All options of a run with their defaults, for `evener train --config`.\n",
                   TrainOptions{}, [](const OptionInfo&) { return true; });
}

}  // namespace evener
