// The random initial parameters of a training run, the same for every device.
#pragma once

#include <cstdint>
#include <span>

#include "evener/data/dataset.h"
#include "evener/nn/network.h"

namespace evener {

/// The bound b of a layer's initial weights, which are uniform in [-b, b]; the .cc has the reasons.
/// Layer 0 is the first; layer network.hidden.size() is the output.
float start_bound(const Network& network, std::size_t layer);

/// Fills all of `parameters` (layout_of(network).size floats): weights within start_bound(), biases
/// and padding zero. Depends on the seed and the shapes alone.
void initialise(const Network& network, std::uint64_t seed, std::span<float> parameters);

/// Sets the output biases to the prediction from the labels' frequencies p alone, so that training
/// need not learn first that most labels are rare: sigmoid ln(p / (1 - p)), softmax ln p,
/// squared p. Counts are smoothed by half a row. `rows` are the training rows of `labels`; empty:
/// all. A listed output has no biases: it stays as it is.
void start_from_frequencies(const Network& network, const CsrView& labels,
                            std::span<const std::uint32_t> rows, std::span<float> parameters);

}  // namespace evener
