// One of several gossiping peers without a coordinator, as `evener train` and `evener worker` start
// it.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "evener/app/commands/commands.h"
#include "evener/app/options/cluster_options.h"
#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/run/options/options.h"

namespace evener {

/// What the user gave of it.
struct PeerArgs {
  std::vector<std::string> peers;  // empty: it is none
  int rank = -1;
  std::string listen, device_strategy;
  std::string device_strategy_option = "--device-strategy";
  bool insecure = false;
};

/// --peers, --listen, --insecure and --evict.
void add_peer_options(CLI::App& command, PeerArgs& args, ClusterArgs& cluster,
                      const std::string& what_for);

/// UsageError where list, rank or address will not do.
GossipPeerOptions peers_of(const PeerArgs& args, const ClusterArgs& cluster,
                           const Environment& environment);

/// Trains to the end, or to a signal, and prints the result. `print`: that the data must have;
/// nothing: whatever it has.
void train_as_peer(const TrainOptions& options, const PeerArgs& args, GossipPeerOptions peers,
                   const std::optional<DataFingerprint>& print, Shell& shell);

}  // namespace evener
