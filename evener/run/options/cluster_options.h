// What coordinator and workers are told on the command line about each other.
#pragma once

#include <string>

#include "evener/cluster/parameter_server/coordinator.h"
#include "evener/cluster/transport/transport.h"

namespace evener {

/// "4" is 4:4, "2:8" from two to eight. UsageError.
void parse_worker_counts(const std::string& text, CoordinatorOptions& options);

/// From the folder that `evener certs` makes; `role` is coordinator or worker. Nothing for "".
Tls read_tls(const std::string& folder, const std::string& role);

/// UsageError where somebody from outside could talk to it unseen, unless that is wanted.
void check_listening(const std::string& address, const Tls& tls, bool insecure);

/// UsageError unless it is HOST:PORT.
void check_address(const std::string& option, const std::string& address);

}  // namespace evener
