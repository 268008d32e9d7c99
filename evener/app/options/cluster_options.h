// Options that commands of a cluster share.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "evener/cluster/parameter_server/coordinator.h"

namespace evener {

inline constexpr int kMostServers = 256;
inline constexpr int kMostPeers = 65535;  // and places of workers

struct ClusterArgs {
  std::string tls, token;
  double wait_seconds = 60;
  HeartbeatLimits heartbeats;
};

/// --tls and --token.
void add_security(CLI::App& command, ClusterArgs& args);
/// --wait-seconds, `for_what` says for whom.
void add_patience(CLI::App& command, ClusterArgs& args, const std::string& for_what);
/// --evict, of peers.
void add_silence(CLI::App& command, ClusterArgs& args);
/// --heartbeat, --suspect and --evict.
void add_heartbeats(CLI::App& command, ClusterArgs& args);

/// UsageError where they contradict each other.
void check_heartbeats(const HeartbeatLimits& limits);

}  // namespace evener
