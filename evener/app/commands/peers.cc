#include "evener/app/commands/peers.h"

#include <utility>

#include <fmt/format.h>

#include "evener/app/commands/train_result.h"
#include "evener/app/options/cluster_environment.h"
#include "evener/core/error.h"
#include "evener/run/options/cluster_options.h"
#include "evener/run/session/backends.h"

namespace evener {

GossipPeerOptions peers_of(const ClusterOptions& cluster, const Environment& environment) {
  GossipPeerOptions peers;
  peers.addresses = peer_addresses(cluster);
  peers.self = rank_of(cluster, environment);
  if (peers.self < 0) throw UsageError("--rank is missing: which of --peers this one is, from 0");
  if (peers.addresses.size() < 2) throw UsageError("--peers: name all of them, and at least two");
  if (peers.self >= static_cast<int>(peers.addresses.size())) {
    throw UsageError(fmt::format("--rank {}: there are {} --peers, counted from 0", peers.self,
                                 peers.addresses.size()));
  }
  peers.listen = cluster.listen.empty() ? peers.addresses[static_cast<std::size_t>(peers.self)]
                                        : cluster.listen;
  check_address("--listen", peers.listen);
  const Tls tls = read_tls(cluster.tls, "server");
  check_listening(peers.listen, tls, cluster.insecure);
  check_certificate(tls, cluster.tls + "/server.pem", "--peers",
                    peers.addresses[static_cast<std::size_t>(peers.self)]);
  peers.transport = make_grpc_transport(tls, cluster.evict);
  peers.token = token_of(cluster, environment);
  peers.patience = cluster.wait_seconds;
  peers.silence = cluster.evict;
  return peers;
}

void train_as_peer(const TrainOptions& options, const ClusterOptions& cluster,
                   GossipPeerOptions peers, const DeviceStrategy& strategy,
                   const std::optional<DataFingerprint>& fingerprint, Shell& shell) {
  const std::string again =
      fmt::format("evener train --peers {} --rank {}{} --resume", fmt::join(peers.addresses, ","),
                  peers.self, connection_text(cluster));
  PeerBackendOptions backend;
  backend.peers = std::move(peers);
  backend.data_fingerprint = fingerprint;
  backend.device_strategy = strategy.name;
  backend.device_strategy_option = strategy.option;
  train_and_print(options, *make_peer_backend(std::move(backend)), again, shell);
}

}  // namespace evener
