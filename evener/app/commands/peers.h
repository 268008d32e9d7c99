// One of several gossiping peers without a coordinator, as `evener train` and `evener worker` start
// it.
#pragma once

#include <optional>
#include <string>

#include "evener/app/commands/commands.h"
#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/run/options/options.h"

namespace evener {

/// UsageError where the addresses, the rank or the address to listen at are wrong.
GossipPeerOptions peers_of(const ClusterOptions& cluster, const Environment& environment);

/// How several devices of one peer train together.
struct DeviceStrategy {
  std::string name;    // empty: as --strategy auto
  std::string option;  // by which the user names it
};

/// Trains to the end, or to a signal, and prints the result. `fingerprint`: what the data must be;
/// nothing: any data.
void train_as_peer(const TrainOptions& options, GossipPeerOptions peers,
                   const DeviceStrategy& strategy,
                   const std::optional<DataFingerprint>& fingerprint, Shell& shell);

}  // namespace evener
