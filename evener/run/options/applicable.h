// Which options have an effect in which mode. Giving an option without effect is an error.
#pragma once

#include <map>
#include <string>

#include "evener/run/options/options.h"

namespace evener {

/// Why the option has no effect, as the end of a message that begins with its name. Empty if it has
/// an effect.
std::string why_not_applicable(const OptionInfo& info, const TrainOptions& options, Mode mode);
/// The same, by the mode alone.
std::string why_not_in_mode(const OptionInfo& info, Mode mode);
/// Why no mode of the command has the option; empty if one has it.
std::string why_not_in_command(const OptionInfo& info, Command command);

/// Names of the options that the user gave, each with the prefix of messages about it: "" for the
/// command line, "FILE:LINE: " for a config file. Defaults and the options of a resumed run do not
/// count.
using GivenNames = std::map<std::string, std::string>;

/// UsageError for the first of `given` that has no effect with these options in this mode; the
/// message names what the option needs.
void check_applicable(const GivenNames& given, const TrainOptions& options, Mode mode);

/// "train --peers, worker --peers": the modes in which it has an effect.
std::string applicable_modes(const OptionInfo& info);

}  // namespace evener
