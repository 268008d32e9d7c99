// Config files: options in TOML, with the names of the command line.
#pragma once

#include <string>
#include <vector>

#include "evener/run/options/options.h"

namespace evener {

/// One option that a file sets. `where` is "FILE:LINE: ".
struct ConfigLine {
  std::string name, text, where;
};

/// The content of a file that an option names. UsageError if it cannot be read (see
/// `read_whole_file`). `option`: its name for the message; empty where the path alone says enough.
std::string read_option_file(const std::string& option, const std::string& path);

/// The options that a TOML file sets, as validated texts. UsageError has `file:line:` and, for an
/// unknown name, the nearest one.
std::vector<ConfigLine> read_config_lines(const std::string& path);
OptionTexts read_config(const std::string& path);

/// The contents of config.toml: the saved options that have an effect in this run (`options.mode`),
/// with a heading for each group.
std::string config_text(const TrainOptions& options);
/// All options of runs on the devices of one machine, with their defaults.
std::string default_config_text();

}  // namespace evener
