// The options of `evener train` on the command line: train, simulate and compare have them all.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "evener/run/options.h"

namespace evener {

/// What the user gave.
struct GivenOptions {
  OptionTexts texts;
  std::string config;
};

/// `given` outlives the command's parsing.
void add_train_options(CLI::App& command, GivenOptions& given);

}  // namespace evener
