// Replaces the cluster layer in a build without EVENER_CLUSTER: the functions that commands call
// throw a UsageError that names what is missing.
#include <string>

#include <fmt/format.h>

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/cluster/gossip/join_request.h"
#include "evener/cluster/parameter_server/coordinator.h"
#include "evener/cluster/parameter_server/shard_server.h"
#include "evener/cluster/parameter_server/status_request.h"
#include "evener/cluster/parameter_server/worker.h"
#include "evener/cluster/transport/certs.h"
#include "evener/cluster/transport/mpi/load.h"
#include "evener/cluster/transport/tls_files.h"
#include "evener/core/error.h"

namespace evener {

namespace {

[[noreturn]] void refuse(const char* what) {
  throw UsageError(
      fmt::format("this evener was built without cluster support (EVENER_CLUSTER): {} need gRPC, "
                  "protobuf and OpenSSL",
                  what));
}

}  // namespace

std::unique_ptr<ClusterCoordinator> make_coordinator(const CoordinatorOptions& /*options*/) {
  refuse("coordinators");
}

int run_worker(const WorkerOptions& /*options*/, const MakeNodeWork& /*make*/) {
  refuse("workers");
}

std::string ask_status(Transport& /*transport*/, const std::string& /*coordinator*/,
                       const std::string& /*token*/) {
  refuse("coordinators");
}

int run_shard_server(const ShardServerOptions& /*options*/) {
  refuse("servers");
}

std::unique_ptr<GossipPeer> make_gossip_peer(const GossipPeerOptions& /*options*/,
                                             const GossipWork& /*work*/, PeerReplica& /*replica*/) {
  refuse("peers");
}

Job ask_peers(const GossipPeerOptions& /*options*/) {
  refuse("peers");
}

void make_certs(const CertsOptions& /*options*/) {
  refuse("certificates");
}

Tls read_tls_files(const TlsFiles& /*files*/) {
  refuse("certificates");
}

bool is_certificate_for(const std::string& /*certificate*/, const std::string& /*host*/) {
  refuse("certificates");
}

namespace mpi {

std::shared_ptr<World> start_world(const std::string& /*family*/, const WorldOptions& /*options*/) {
  refuse("MPI ranks");
}

}  // namespace mpi

}  // namespace evener
