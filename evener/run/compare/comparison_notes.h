// Sentences about a comparison as a whole, for its text, JSON and HTML.
#pragma once

#include <string>
#include <vector>

#include "evener/run/compare/compare.h"

namespace evener {

/// "every run trained for 8.52 s: what sync needs for 12 epochs".
std::string budget_text(const Comparison& comparison);
/// The choices of auto, lost devices, and targets that are too low to time.
std::vector<std::string> comparison_notes(const Comparison& comparison);

}  // namespace evener
