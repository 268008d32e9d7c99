#include "evener/app/commands/peers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "evener/app/commands/train_result.h"
#include "evener/core/error.h"
#include "evener/run/options/cluster_options.h"
#include "evener/run/session/backends.h"

namespace evener {

void add_peer_options(CLI::App& command, PeerArgs& args, ClusterArgs& cluster,
                      const std::string& what_for) {
  command.add_option("--peers", args.peers, what_for)->delimiter(',')->type_name("HOST:PORT,...");
  command.add_option("--listen", args.listen, "of --peers: where it listens [its address]")
      ->type_name("HOST:PORT");
  command.add_flag("--insecure", args.insecure,
                   "of --peers: listen beyond this machine without TLS");
  add_silence(command, cluster);
}

GossipPeerOptions peers_of(const PeerArgs& args, const ClusterArgs& cluster,
                           const Environment& environment) {
  GossipPeerOptions peers;
  peers.addresses = args.peers;
  for (const auto& address : peers.addresses) {
    check_address("--peers", address);
    if (std::count(peers.addresses.begin(), peers.addresses.end(), address) > 1) {
      throw UsageError(fmt::format("--peers: {} is named twice", address));
    }
  }
  peers.self = args.rank >= 0 ? args.rank : environment.placement.rank;
  if (peers.self < 0) throw UsageError("--rank is missing: which of --peers this one is, from 0");
  if (peers.addresses.size() < 2) throw UsageError("--peers: name all of them, and at least two");
  if (peers.self >= static_cast<int>(peers.addresses.size())) {
    throw UsageError(fmt::format("--rank {}: there are {} --peers, counted from 0", peers.self,
                                 peers.addresses.size()));
  }
  peers.listen =
      args.listen.empty() ? peers.addresses[static_cast<std::size_t>(peers.self)] : args.listen;
  check_address("--listen", peers.listen);
  const Tls tls = read_tls(cluster.tls, "server");
  check_listening(peers.listen, tls, args.insecure);
  peers.transport = make_grpc_transport(tls, cluster.heartbeats.evict);
  peers.token = cluster.token.empty() ? environment.token : cluster.token;
  peers.patience = cluster.wait_seconds;
  peers.silence = cluster.heartbeats.evict;
  return peers;
}

void train_as_peer(const TrainOptions& options, const PeerArgs& args, GossipPeerOptions peers,
                   const std::optional<DataFingerprint>& print, Shell& shell) {
  const std::string again = fmt::format("evener train --peers {} --rank {} --resume",
                                        fmt::join(peers.addresses, ","), peers.self);
  PeerBackendOptions backend;
  backend.peers = std::move(peers);
  backend.data_fingerprint = print;
  backend.device_strategy = args.device_strategy;
  backend.device_strategy_option = args.device_strategy_option;
  train_and_print(options, *make_peer_backend(std::move(backend)), again, shell);
}

}  // namespace evener
