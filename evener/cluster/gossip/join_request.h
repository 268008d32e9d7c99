// A process that joins gossip peers requests the training job from them.
#pragma once

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/cluster/wire/job.h"

namespace evener {

/// Asks all peers until one answers. Uses transport, addresses, self, token, patience and say of
/// the options. Error if no peer answers within `patience`, or if one refuses: the slot is taken,
/// or the list of peers or the token differs.
Job ask_peers(const GossipPeerOptions& options);

}  // namespace evener
