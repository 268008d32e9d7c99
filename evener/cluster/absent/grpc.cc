// Replaces transport/grpc where gRPC is not used: in a build without EVENER_CLUSTER, and under
// the thread sanitizer, which cannot see into gRPC.
#include "evener/cluster/transport/transport.h"
#include "evener/core/error.h"

namespace evener {

std::shared_ptr<Transport> make_grpc_transport(const Tls& /*tls*/, double /*dead_after*/,
                                               double /*admission*/) {
  throw UsageError(
      "this evener was built without cluster support (EVENER_CLUSTER): connections between "
      "processes need gRPC, protobuf and OpenSSL");
}

}  // namespace evener
