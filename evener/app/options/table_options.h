// The options of the table (run/options/options.h) on the command line.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "evener/run/options/resolve.h"

namespace evener {

/// Adds the options of this command, and --config if options may also come from a file. An option
/// that has no effect in this command, and for which the table has a reason, is accepted but hidden
/// from the help: giving it is a UsageError with that reason (resolve_options, read_options).
/// `given` must outlive parsing.
void add_table_options(CLI::App& command, Command which, GivenOptions& given);

/// Makes the help of a command with many options short: it shows what most people need, below the
/// questions of the table, and names `--help all`. Other commands stay as they are.
void shorten_help(CLI::App& command);

/// Adds one option, for commands outside the table. Calls `set` with its text.
CLI::Option* add_table_option(CLI::App& command, const OptionInfo& info,
                              const std::function<void(const std::string&)>& set,
                              const CommandText& own = {});

}  // namespace evener
