// The reference implementation of networks with a listed output. Called by reference.h.
#pragma once

#include "evener/nn/reference.h"

namespace evener::reference {

/// As `loss` and `predict`: the sum over a row's candidates, in which labels that are not
/// candidates have no part; a prediction's losses count them with kAbsentLogOdds.
double listed_loss(const Network& network, std::span<const float> parameters, const Batch& batch,
                   const Training& training, const Step& step, std::span<float> gradient);
Predictions listed_predict(const Network& network, std::span<const float> parameters,
                           const Batch& batch, std::uint32_t k);

}  // namespace evener::reference
