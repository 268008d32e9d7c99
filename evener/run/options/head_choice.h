// --head auto: what the other options say about it.
#pragma once

#include <string>

#include "evener/run/options/applicable.h"
#include "evener/run/options/options.h"

namespace evener {

/// Whether --devices is `auto` or names only parts of the processor: `cpu`, `cpu:T`, or several.
bool names_processors(const std::string& devices);

/// Replaces --head auto if the other options fit only one of the heads, and sets `head_reason`.
/// `given`: options that count as given.
void choose_head_by_options(const GivenNames& given, TrainOptions& options);

}  // namespace evener
