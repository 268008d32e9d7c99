// The options of the table (run/options/options.h) on the command line.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "evener/run/options/resolve.h"

namespace evener {

/// Adds the rows that `which` has, and --config where `given` is to be read from a file too.
/// Options that have no effect in this command, and for which the table has a reason, are not in
/// the help: giving one is a UsageError with that reason (resolve_options, read_options). `given`
/// outlives the command's parsing.
void add_table_options(CLI::App& command, Command which, GivenOptions& given);

/// One row, for commands of other kinds. `set` gets the text.
CLI::Option* add_table_option(CLI::App& command, const OptionInfo& info,
                              const std::function<void(const std::string&)>& set,
                              const CommandText& own = {});

}  // namespace evener
