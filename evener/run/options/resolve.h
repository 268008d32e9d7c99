// Resolves the options of a run. Later sources override earlier ones: defaults, the resumed run,
// the config file, the command line.
#pragma once

#include <string>

#include "evener/run/options/options.h"

namespace evener {

/// The user's options: command-line texts by option name, and the path of a config file.
struct GivenOptions {
  OptionTexts texts;
  std::string config;  // empty: none
};

/// The given options over the defaults, with their mode. UsageError if an option has no effect in
/// this mode. For commands that do not train, and for options that are needed before a run starts;
/// does not read the data or the run to resume.
TrainOptions read_options(const GivenOptions& given, Command command);

/// The options of a run that this command starts or resumes. `base` holds options from other
/// sources, such as those sent by peers; they do not count as given. UsageError if a given option
/// has no effect, or if options contradict each other. A line of a config file that sets an option
/// to its default does not count as given, so that a file may list all options.
TrainOptions resolve_options(const GivenOptions& given, Command command,
                             const OptionTexts& base = {});

/// The same for `evener train`.
TrainOptions resolve_options(const OptionTexts& given, const std::string& config);

}  // namespace evener
