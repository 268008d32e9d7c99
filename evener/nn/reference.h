// The plain implementation that every device is tested against: no SIMD, no threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evener/data/dataset.h"
#include "evener/nn/network.h"
#include "evener/nn/predictions.h"
#include "evener/nn/training.h"

namespace evener::reference {

/// Mean loss over the batch and, if `gradient` is not empty, its gradient in the layout of the
/// parameters. `training` and `step` matter for the dropout masks only.
double loss(const Network& network, std::span<const float> parameters, const Batch& batch,
            const Training& training, const Step& step, std::span<float> gradient);

/// One update as training.h defines it; returns the mean loss before it. `state` has
/// state_vectors() vectors of the parameters' size.
double step(const Network& network, const Training& training, const Batch& batch, const Step& step,
            std::span<float> parameters, std::span<std::vector<float>> state);

/// The top k labels (all, if there are fewer) of each row, no dropout.
Predictions predict(const Network& network, std::span<const float> parameters, const Batch& batch,
                    std::uint32_t k);

}  // namespace evener::reference
