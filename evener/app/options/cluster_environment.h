// Options of a cluster's processes that the environment gives where the user does not.
#pragma once

#include <string>

#include "evener/app/shell/environment.h"
#include "evener/run/options/options.h"
#include "evener/run/options/resolve.h"

namespace evener {

/// --coordinator, else MASTER_ADDR and MASTER_PORT. UsageError if it is not HOST:PORT, or missing:
/// `otherwise` ends that message.
std::string coordinator_address(const ClusterOptions& cluster, const Environment& environment,
                                const std::string& otherwise = "");

/// --token, else the first line of --token-file, else EVENER_TOKEN; empty: none. UsageError if the
/// file cannot be read or that line is empty.
std::string token_of(const ClusterOptions& cluster, const Environment& environment);

/// Warns if --token is on the command line, which every user of the machine can read. Call it once
/// the options are known to be valid.
void warn_of_visible_token(const GivenOptions& given);

/// --rank, else the launcher's; -1: none.
int rank_of(const ClusterOptions& cluster, const Environment& environment);

}  // namespace evener
