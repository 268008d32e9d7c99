// Options of a cluster's processes that the environment gives where the user does not.
#pragma once

#include <string>

#include "evener/app/shell/environment.h"
#include "evener/run/options/options.h"

namespace evener {

/// --coordinator, else MASTER_ADDR and MASTER_PORT. UsageError if it is not HOST:PORT, or missing:
/// `otherwise` ends that message.
std::string coordinator_address(const ClusterOptions& cluster, const Environment& environment,
                                const std::string& otherwise = "");

/// --token, else EVENER_TOKEN; empty: none.
std::string token_of(const ClusterOptions& cluster, const Environment& environment);

/// --rank, else the launcher's; -1: none.
int rank_of(const ClusterOptions& cluster, const Environment& environment);

}  // namespace evener
