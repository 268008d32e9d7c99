// Config files: options in TOML, with the names of the command line.
#pragma once

#include <string>

#include "evener/run/options/options.h"

namespace evener {

/// The options a TOML file sets, as texts that are known to be valid. UsageError gives
/// `file:line:` and, for an unknown name, the nearest.
OptionTexts read_config(const std::string& path);

/// All options of the run as TOML with a heading a group, as config.toml holds them.
std::string config_text(const TrainOptions& options);

}  // namespace evener
