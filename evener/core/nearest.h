// "Did you mean": the closest of the valid names to a misspelt one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace evener {

/// Levenshtein distance, with a swap of neighbours counting as one edit.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest candidate, or empty if none is near enough to be a misspelling (more than about a
/// third of the letters differ). A candidate that contains the whole name is near.
std::string nearest(std::string_view name, std::span<const std::string> candidates);

/// " (did you mean 'X'?)", or empty.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates,
                         const std::string& prefix = "");

}  // namespace evener
