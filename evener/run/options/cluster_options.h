// What the cluster options mean: counts, addresses, certificates.
#pragma once

#include <string>
#include <vector>

#include "evener/cluster/parameter_server/coordinator.h"
#include "evener/cluster/transport/transport.h"
#include "evener/run/options/options.h"

namespace evener {

/// "4" is 4:4, "2:8" from two to eight. UsageError.
void parse_worker_counts(const std::string& text, CoordinatorOptions& options);

/// From the folder that `evener certs` makes; `role` is coordinator or worker. Nothing for "".
Tls read_tls(const std::string& folder, const std::string& role);

/// UsageError where processes of other machines could connect without TLS, unless `insecure`.
void check_listening(const std::string& address, const Tls& tls, bool insecure);

/// UsageError unless it is HOST:PORT.
void check_address(const std::string& option, const std::string& address);

/// The limits of --heartbeat, --suspect and --evict; UsageError where they contradict each other.
HeartbeatLimits heartbeat_limits(const ClusterOptions& options);

/// The addresses of --peers. UsageError where one is not HOST:PORT, or is named twice.
std::vector<std::string> peer_addresses(const ClusterOptions& options);

}  // namespace evener
