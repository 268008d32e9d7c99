// A gossiping peer without a coordinator, as started by `evener train` and `evener worker`.
#pragma once

#include <optional>
#include <string>

#include "evener/app/commands/commands.h"
#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/run/options/options.h"

namespace evener {

/// Throws UsageError if the addresses, the rank or the listen address are wrong.
GossipPeerOptions peers_of(const ClusterOptions& cluster, const Environment& environment);

/// How several devices of one peer train together.
struct DeviceStrategy {
  std::string name;    // empty: as --strategy auto
  std::string option;  // the option that selects it
};

/// Trains until the end or a signal, and prints the result. `fingerprint`: that of the data of the
/// run; nullopt: any data.
/// `cluster`: options of the connections, for the command that resumes the run.
void train_as_peer(const TrainOptions& options, const ClusterOptions& cluster,
                   GossipPeerOptions peers, const DeviceStrategy& strategy,
                   const std::optional<DataFingerprint>& fingerprint, Shell& shell);

}  // namespace evener
