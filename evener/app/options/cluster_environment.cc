#include "evener/app/options/cluster_environment.h"

#include "evener/core/error.h"
#include "evener/run/options/cluster_options.h"

namespace evener {

std::string coordinator_address(const ClusterOptions& cluster, const Environment& environment,
                                const std::string& otherwise) {
  const std::string& address =
      cluster.coordinator.empty() ? environment.placement.master : cluster.coordinator;
  if (address.empty()) {
    throw UsageError(
        "--coordinator is missing: where it listens, HOST:PORT (or MASTER_ADDR and MASTER_PORT)" +
        otherwise);
  }
  check_address("--coordinator", address);
  return address;
}

std::string token_of(const ClusterOptions& cluster, const Environment& environment) {
  return cluster.token.empty() ? environment.token : cluster.token;
}

int rank_of(const ClusterOptions& cluster, const Environment& environment) {
  return cluster.rank == kNotGiven ? environment.placement.rank : cluster.rank;
}

}  // namespace evener
