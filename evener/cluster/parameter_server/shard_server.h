// A shard server: holds a shard of the model for a coordinator. Workers pull the shard from it and
// push to it; the coordinator decides which pushes are applied.
#pragma once

#include <functional>
#include <string>

#include "evener/cluster/transport/transport.h"
#include "evener/core/time.h"

namespace evener {

struct ShardServerOptions {
  std::string coordinator;               // HOST:PORT
  std::string listen = "127.0.0.1:0";    // for workers
  std::string address;                   // where workers reach it; empty: where it listens
  std::shared_ptr<Transport> transport;  // null: gRPC without TLS
  std::string token;
  int threads = 1;        // that apply pushes to the shard
  Seconds patience = 60;  // timeout of connecting to the coordinator
  /// Polled several times a second. Not 0: this signal was received, and the server leaves.
  std::function<int()> interrupted;
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// Serves until the run is over or a signal arrives. Returns the process's exit code (reconnect.h).
/// Error if the coordinator refuses the server, or cannot be reached within `patience`.
int run_shard_server(const ShardServerOptions& options);

}  // namespace evener
