// A node: joins a coordinator, does what it is asked, and comes back when the connection breaks.
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
  std::string coordinator;  // its address
  std::shared_ptr<Transport> transport = make_grpc_transport();
  std::string token;
  std::string name;       // for people, and to be known again: one a process
  int rank = -1;          // the slot it would like to have; -1: any
  Seconds patience = 60;  // to look for a coordinator that is not there, or no longer
  double speed = 1;       // emulated, as a share of its own
  /// Asked several times a second; not 0: a signal has come, and the node leaves.
  std::function<int()> interrupted;
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// What a node trains with.
struct NodeWork {
  Network network;
  Compression compression;
  DataFingerprint data;
  std::size_t most_rows = 0;          // of a batch, by the device's memory; 0: no limit
  std::shared_ptr<const void> owner;  // of what the replica trains on
  std::unique_ptr<NodeReplica> replica;
};
/// Makes it for a job and a slot. UsageError or DataError: this node cannot take part.
using MakeNodeWork = std::function<NodeWork(const Job& job, int slot)>;

/// Until the run is over or a signal comes; returns the process's exit code (visits.h). Error where
/// the coordinator refuses this node, or is not found for as long as patience lasts.
int run_worker(const WorkerOptions& options, const MakeNodeWork& make);

/// What the coordinator answers to `evener status`: JSON. Error where nobody answers.
std::string ask_status(Transport& transport, const std::string& coordinator,
                       const std::string& token);

}  // namespace evener
