// The backends of a session. Under MPI the ranks are a cluster or peers over the MPI transport.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/cluster/parameter_server/coordinator.h"
#include "evener/run/session/backend.h"
#include "evener/runtime/virtual_time.h"

namespace evener {

/// The devices of this machine that --devices names.
std::unique_ptr<Backend> make_local_backend();

/// Devices simulated in virtual time: the arithmetic is real, the seconds are not.
std::unique_ptr<Backend> make_virtual_backend(VirtualTimeOptions options);

/// Workers train; the one device here evaluates.
std::unique_ptr<Backend> make_cluster_backend(std::shared_ptr<ClusterCoordinator> coordinator);
/// UsageError where a cluster cannot train with these options. Starts nothing.
void check_cluster_options(TrainOptions options, const DeviceContext& context);

struct PeerBackendOptions {
  GossipPeerOptions peers;  // the exchange rule, signals and messages are set by the backend
  /// What the data must be, where the other peers have said it.
  std::optional<DataFingerprint> data_fingerprint;
  std::string device_strategy;  // of several devices of this peer; empty: as --strategy auto
  std::string device_strategy_option = "--device-strategy";  // where the user names it
  bool keeps_run = true;  // false: another peer keeps the run directory and evaluates
};
/// This process is one of several gossiping peers. An epoch is counted over the rows of all peers;
/// the model that is evaluated and saved is this peer's own, and after the last epoch the mean of
/// all.
std::unique_ptr<Backend> make_peer_backend(PeerBackendOptions options);

}  // namespace evener
