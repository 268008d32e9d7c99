// The hello message of gossip peers, and the checks that refuse peers and messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/cluster/gossip/peer_event.h"

namespace evener {

/// Equal where both lists have the same addresses in the same order.
std::uint64_t checksum_of(const std::vector<std::string>& addresses);

/// The first message of a peer. `age`: seconds since it was started.
wire::Head hello_of(const GossipPeerOptions& options, const GossipWork& work,
                    std::uint64_t incarnation, Seconds age);

// Why a join request, a hello or a message is refused; empty: it is accepted.
std::string why_refused(const wire::JoinRequest& request, const GossipPeerOptions& options);
std::string why_refused(const wire::PeerHello& hello, const GossipPeerOptions& options,
                        const GossipWork& work);
std::string why_unusable(const PeerEvent& event, const ModelUpdateLayout& layout, bool push_sum);

}  // namespace evener
