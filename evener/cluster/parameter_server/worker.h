// A worker: it joins a coordinator, executes its orders, and reconnects when the connection breaks.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/job.h"
#include "evener/core/time.h"
#include "evener/runtime/node_replica.h"

namespace evener {

struct WorkerOptions {
  std::string coordinator;               // its address
  std::shared_ptr<Transport> transport;  // null: gRPC without TLS
  std::string token;
  std::string name;       // for people; several workers may have the same one
  int rank = -1;          // the slot it requests; -1: any
  Seconds patience = 60;  // timeout of connecting to the coordinator
  double speed = 1;       // emulated, as a share of its real speed
  /// Polled several times a second. Not 0: this signal was received, and the worker leaves.
  std::function<int()> interrupted;
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// What a worker trains with.
struct NodeWork {
  Network network;
  Compression compression;
  DataFingerprint data;
  std::size_t most_rows = 0;          // of a batch, by the device's memory; 0: no limit
  std::shared_ptr<const void> owner;  // of the data and the device of the replica
  std::unique_ptr<NodeReplica> replica;
};
/// Makes it for a job and a slot. UsageError or DataError where this process cannot take part.
using MakeNodeWork = std::function<NodeWork(const Job& job, int slot)>;

/// Works until the run is over or a signal arrives. Returns the process's exit code (reconnect.h).
/// Error if the coordinator refuses the worker, or cannot be reached within `patience`.
int run_worker(const WorkerOptions& options, const MakeNodeWork& make);

}  // namespace evener
