// What gossiping peers train, for one who would join them and was not told.
#pragma once

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/cluster/wire/job.h"

namespace evener {

/// Asks all of them until one answers. Of the options transport, addresses, self, token, patience
/// and say are used. Error where nobody answers for as long as patience lasts, or one will not have
/// it: its place is taken, the list or the token is another.
Job ask_peers(const GossipPeerOptions& options);

}  // namespace evener
