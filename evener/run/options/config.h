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

/// The options a TOML file sets, as texts that are known to be valid. UsageError gives
/// `file:line:` and, for an unknown name, the nearest.
std::vector<ConfigLine> read_config_lines(const std::string& path);
OptionTexts read_config(const std::string& path);

/// The options that make the run and have an effect in it (`options.mode`), as TOML with a heading
/// a group: what config.toml holds.
std::string config_text(const TrainOptions& options);
/// All options of runs on the devices of one machine, with their defaults.
std::string default_config_text();

}  // namespace evener
