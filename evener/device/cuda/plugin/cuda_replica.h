// A model on a card.
#pragma once

#include <memory>

#include "evener/device/cuda/plugin/card.h"

namespace evener::cuda {

std::unique_ptr<Replica> make_cuda_replica(std::shared_ptr<OpenCard> card, const Network& network,
                                           const Training& training);

}  // namespace evener::cuda
