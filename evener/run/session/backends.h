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

/// Devices simulated in virtual time: the arithmetic is real, only the time is simulated.
std::unique_ptr<Backend> make_virtual_backend(VirtualTimeOptions options);

/// Workers train; one local device evaluates.
std::unique_ptr<Backend> make_cluster_backend(std::shared_ptr<ClusterCoordinator> coordinator);
/// UsageError if a cluster cannot train with these options. Starts no process.
void check_cluster_options(TrainOptions options, const DeviceContext& context);

struct PeerBackendOptions {
  GossipPeerOptions peers;  // the exchange rule, signals and messages are set by the backend
  /// The fingerprint of the run's data, if other peers have sent it.
  std::optional<DataFingerprint> data_fingerprint;
  std::string device_strategy;  // for several devices of this peer; empty: --strategy auto
  std::string device_strategy_option = "--device-strategy";  // the option that selects it
  bool keeps_run = true;  // false: another peer keeps the run directory and evaluates
};
/// This process is one of several gossiping peers. An epoch counts the rows of all peers. The
/// evaluated and saved model is this peer's own, and after the last epoch the mean of all peers.
std::unique_ptr<Backend> make_peer_backend(PeerBackendOptions options);

}  // namespace evener
