#include "evener/policy/row_check.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/policy/catalogue.h"

namespace evener {

namespace {

ReservedNames g_reserved = nullptr;

[[noreturn]] void refuse(const Strategy& row, const std::string& why) {
  throw Error(fmt::format("strategy '{}': {}", row.name, why));
}

bool is_plain(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

const StrategyOption* find_option(const std::vector<StrategyOption>& options,
                                  const std::string& name) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const auto& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

/// Each option of a strategy is also one of the commands: `--pull 0.1`.
void check_option_names(const Strategy& row, const std::vector<StrategyOption>& options) {
  const auto reserved = g_reserved == nullptr ? std::vector<std::string>{} : g_reserved();
  std::set<std::string> names;
  for (const auto& option : options) {
    if (!is_plain(option.name)) {
      refuse(row, fmt::format("option '{}': a name has lower-case letters, digits and dashes",
                              option.name));
    }
    if (!names.insert(option.name).second) {
      refuse(row, fmt::format("option '{}' is listed twice", option.name));
    }
    if (std::find(reserved.begin(), reserved.end(), option.name) != reserved.end()) {
      refuse(row, fmt::format("option '{0}': the commands have an option --{0} already; choose "
                              "another name",
                              option.name));
    }
  }
}

/// Defaults and presets are valid values of options that the row has.
void check_values(const Strategy& row, const std::vector<StrategyOption>& options) {
  StrategyValues values;
  for (const auto& option : options) values.set(option, option.value);
  for (const auto& preset : row.presets) {
    for (const auto& entry : preset.values) {  // option name and value
      const StrategyOption* option = find_option(options, entry.first);
      if (option == nullptr) {
        refuse(row, preset.name + " is of an option it does not have: " + entry.first);
      }
      values.set(*option, entry.second);
    }
  }
  for (const auto& name : row.batch_options) {
    if (find_option(options, name) == nullptr) {
      refuse(row, "batch_options names an option it does not have: " + name);
    }
  }
}

}  // namespace

bool reserve_option_names(ReservedNames names) {
  g_reserved = names;
  return true;
}

void check_row(const Strategy& row, const std::list<Strategy>& others) {
  if (!is_plain(row.name)) refuse(row, "a name has lower-case letters, digits and dashes");
  if (!row.make) refuse(row, "its row makes no policy");
  if (row.sharing == Sharing::peers && !row.gossip)
    refuse(row, "its row has no rule for its peers");
  const auto options = options_of(row);
  check_option_names(row, options);
  check_values(row, options);
  for (const auto& other : others) {
    if (other.name == row.name) refuse(row, "there is one of this name");
    for (const auto& choice : row.automatic) {
      for (const auto& taken : other.automatic) {
        if (taken.what == choice.what) {
          refuse(row, other.name + " is automatic where it wants to be");
        }
      }
    }
  }
}

}  // namespace evener
