// A process that joins gossip peers asks them what they train.
#pragma once

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/cluster/wire/job.h"

namespace evener {

/// Asks all peers until one answers. Uses transport, addresses, self, token, patience and say of
/// the options. Error where no peer answers for as long as patience lasts, or one refuses: the slot
/// is taken, or the list or the token is another.
Job ask_peers(const GossipPeerOptions& options);

}  // namespace evener
