// The rows of the option table for evaluation and output.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "evener/run/options/option_builders.h"

namespace evener {

// Shared with train_rows.cc.
inline constexpr auto kMany = std::numeric_limits<std::uint32_t>::max();
inline constexpr ModeSet kGossipModes{Mode::train_peers, Mode::train_mpi_gossip};
// Reasons, as the end of a message that begins with the option's name.
inline constexpr const char* kNoEvaluation = ": a profile evaluates nothing";
inline constexpr const char* kNotForGossip = ": not for gossiping peers";

std::vector<Row> evaluation_options();
std::vector<Row> output_options();

}  // namespace evener
