// One of several gossiping peers without a coordinator, as `evener train` and `evener worker` start
// it.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "evener/app/cluster_options.h"
#include "evener/app/commands.h"
#include "evener/cluster/gossip_peer.h"
#include "evener/run/options.h"

namespace evener {

/// What the user gave of it.
struct PeerWish {
  std::vector<std::string> peers;  // empty: it is none
  int rank = -1;
  std::string listen, device_strategy;
  std::string device_strategy_option = "--device-strategy";
  bool insecure = false;
};

/// --peers, --listen, --insecure and --evict.
void add_peer_options(CLI::App& command, PeerWish& wish, ClusterWish& cluster,
                      const std::string& what_for);

/// UsageError where list, rank or address will not do.
GossipPeerOptions peers_of(const PeerWish& wish, const ClusterWish& cluster,
                           const Environment& environment);

/// Trains to the end, or to a signal, and prints the result. `print`: that the data must have;
/// nothing: whatever it has.
void train_as_peer(const TrainOptions& options, const PeerWish& wish, GossipPeerOptions peers,
                   const std::optional<DataPrint>& print, Shell& shell);

}  // namespace evener
