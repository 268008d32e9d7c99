// The options of `evener train` on the command line: simulate, compare and profile have them too,
// but for those that mean nothing there.
#pragma once

#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include "evener/run/options/options.h"

namespace evener {

/// What the user gave.
struct GivenOptions {
  OptionTexts texts;
  std::string config;
};

/// Options that a command does not have, by name, each with the reason its user is told.
using RefusedOptions = std::map<std::string, std::string>;

/// `given` outlives the command's parsing. Refused options are not in the help; giving one is a
/// UsageError with its reason.
void add_train_options(CLI::App& command, GivenOptions& given, const RefusedOptions& refused = {});

}  // namespace evener
