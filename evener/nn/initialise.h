// The random start of a training run, the same for every device.
#pragma once

#include <cstdint>
#include <span>

#include "evener/nn/network.h"

namespace evener {

/// The bound b of a layer's start weights, which are uniform in [-b, b]; see the .cc for why.
/// Layer 0 is the first; layer network.hidden.size() is the output.
float start_bound(const Network& network, std::size_t layer);

/// Fills all of `parameters` (layout_of(network).size floats): weights within start_bound(), biases
/// and padding zero. Depends on the seed and the shapes alone.
void initialise(const Network& network, std::uint64_t seed, std::span<float> parameters);

}  // namespace evener
