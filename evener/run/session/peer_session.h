// A run as one of several gossiping peers, without a coordinator.
#pragma once

#include "evener/run/session/train.h"

namespace evener {

/// `context` has the peers. The model that is saved is the mean of all; where the run was
/// interrupted, this peer's own.
TrainResult train_peer(const TrainOptions& options, const RunContext& context);

}  // namespace evener
