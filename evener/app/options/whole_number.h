// A check of numbers on the command line.
#pragma once

#include <CLI/CLI.hpp>

namespace evener {

/// A whole number from `least` to `most`, refused in the words of train's options.
CLI::Validator whole_number(int least, int most);

}  // namespace evener
