// Parses the cluster options: counts, addresses, certificates.
#pragma once

#include <string>
#include <vector>

#include "evener/cluster/parameter_server/coordinator.h"
#include "evener/cluster/transport/transport.h"
#include "evener/run/options/options.h"

namespace evener {

/// Parses "4" (exactly four) or "2:8" (two to eight). UsageError if it is neither.
void parse_worker_counts(const std::string& text, CoordinatorOptions& options);

/// Reads and checks the folder written by `evener certs`; `role` is coordinator, server or worker.
/// No TLS for "".
Tls read_tls(const std::string& folder, const std::string& role);

/// " --tls certs --wait-seconds 300": the options of connections that were given, for a command
/// that is suggested to the user. A token is not shown.
std::string connection_text(const ClusterOptions& cluster);

/// UsageError if others that use TLS cannot connect to `address`, because the certificate is for
/// other hosts. `file`: where the certificate is; `option`: that gives the address.
void check_certificate(const Tls& tls, const std::string& file, const std::string& option,
                       const std::string& address);

/// UsageError if other machines could connect without TLS, unless `insecure`.
void check_listening(const std::string& address, const Tls& tls, bool insecure);

/// UsageError unless it is HOST:PORT.
void check_address(const std::string& option, const std::string& address);

/// The limits of --heartbeat, --suspect and --evict; UsageError if they contradict each other.
HeartbeatLimits heartbeat_limits(const ClusterOptions& options);

/// The addresses of --peers. UsageError if one is not HOST:PORT or occurs twice.
std::vector<std::string> peer_addresses(const ClusterOptions& options);

}  // namespace evener
