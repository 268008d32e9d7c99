// The work of gossiping peers: the options and data of a run that all peers share.
#pragma once

#include <cstddef>

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/options/options.h"
#include "evener/run/session/data.h"

namespace evener {

/// Starts from the model and the steps of `start`.
GossipWork gossip_work(const TrainOptions& options, const TrainingData& data,
                       const Checkpoint& start, std::size_t peers);

}  // namespace evener
