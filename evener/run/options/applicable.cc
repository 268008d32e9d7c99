#include "evener/run/options/applicable.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "evener/core/error.h"

namespace evener {

namespace {

void add_new(std::vector<std::string>& texts, const std::string& text) {
  if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
}

const Exclusion* exclusion_in(const OptionInfo& info, Mode mode) {
  for (const auto& exclusion : info.exclusions) {
    if (exclusion.modes.contains(mode)) return &exclusion;
  }
  return nullptr;
}

/// "--peers or --transport mpi": the options that select the modes in which this option applies.
std::string selectors(const OptionInfo& info, Command command) {
  std::vector<std::string> found;
  for (const Mode mode : all_modes()) {
    if (command_of(mode) != command || !info.modes.contains(mode)) continue;
    if (selector_of(mode).empty()) return "";
    add_new(found, selector_of(mode));
  }
  return fmt::format("{}", fmt::join(found, " or "));
}

std::string commands_with(const OptionInfo& info) {
  std::vector<std::string> names;
  for (const Mode mode : all_modes()) {
    if (info.modes.contains(mode)) add_new(names, "evener " + command_name(command_of(mode)));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string why_not_in_command(const OptionInfo& info, Command command) {
  if (!(info.modes & modes_of(command)).empty()) return "";
  for (const Mode mode : all_modes()) {
    if (command_of(mode) != command) continue;
    if (const Exclusion* found = exclusion_in(info, mode)) return found->why;
  }
  return fmt::format(" is not an option of evener {}, but of {}", command_name(command),
                     commands_with(info));
}

std::string why_not_in_mode(const OptionInfo& info, Mode mode) {
  if (info.modes.contains(mode)) return "";
  if (const Exclusion* found = exclusion_in(info, mode)) return found->why;
  if (auto why = why_not_in_command(info, command_of(mode)); !why.empty()) return why;
  const std::string needed = selectors(info, command_of(mode));
  return needed.empty() ? " has no effect with " + selector_of(mode) : " needs " + needed;
}

std::string why_not_applicable(const OptionInfo& info, const TrainOptions& options, Mode mode) {
  if (auto why = why_not_in_mode(info, mode); !why.empty()) return why;
  for (const auto& need : info.needs) {
    if (const std::string why = need(options); !why.empty()) return " " + why;
  }
  return "";
}

void check_applicable(const GivenNames& given, const TrainOptions& options, Mode mode) {
  for (const auto& [name, where] : given) {
    const std::string why = why_not_applicable(find_train_option(name), options, mode);
    if (!why.empty()) throw UsageError(where + "--" + name + why);
  }
}

std::string applicable_modes(const OptionInfo& info) {
  std::vector<std::string> names;
  for (const Mode mode : all_modes()) {
    if (info.modes.contains(mode)) add_new(names, mode_name(mode));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace evener
