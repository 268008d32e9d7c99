// From what the user gave to the options of a run: defaults, then the run that is resumed, then the
// config file, then the command line.
#pragma once

#include <string>

#include "evener/run/options/options.h"

namespace evener {

/// What the user gave: texts of the command line by option name, and the path of a config file.
struct GivenOptions {
  OptionTexts texts;
  std::string config;  // empty: none
};

/// The given options over the defaults, with their mode. UsageError where an option has no effect
/// in this mode. For commands that do not train, and for what must be known before a run starts;
/// data and the run to resume are not looked at.
TrainOptions read_options(const GivenOptions& given, Command command);

/// The options of a run that this command starts or resumes. `base` holds options that come from
/// elsewhere, such as those that peers have sent; they do not count as given. UsageError where an
/// option that was given has no effect, or where options contradict each other. A line of a config
/// file that sets an option to its default does not count as given, so that a file may list all.
TrainOptions resolve_options(const GivenOptions& given, Command command,
                             const OptionTexts& base = {});

/// The same for `evener train`.
TrainOptions resolve_options(const OptionTexts& given, const std::string& config);

}  // namespace evener
