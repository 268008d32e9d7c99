// A server: keeps a shard of the model for a coordinator. Workers pull it from here and
// push to here; what becomes of pushes is the coordinator's to say.
#pragma once

#include <functional>
#include <string>

#include "evener/cluster/transport/transport.h"
#include "evener/core/time.h"

namespace evener {

struct ShardServerOptions {
  std::string coordinator;             // HOST:PORT
  std::string listen = "127.0.0.1:0";  // for nodes
  std::string address;                 // where nodes reach it; empty: where it listens
  std::shared_ptr<Transport> transport = make_grpc_transport();
  std::string token;
  int threads = 1;        // that bring pushes into the shard
  Seconds patience = 60;  // to look for a coordinator that is not there, or no longer
  /// Asked several times a second; not 0: a signal has come, and the server leaves.
  std::function<int()> interrupted;
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// Until the run is over or a signal comes; returns the process's exit code (visits.h). Error where
/// the coordinator refuses it, or is not found for as long as patience lasts.
int run_shard_server(const ShardServerOptions& options);

}  // namespace evener
