// The coordinator of a cluster: listens, gives slots to workers that join, evicts workers that are
// silent, sends tasks to workers and takes their pushes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "evener/cluster/membership/heartbeats.h"
#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/job.h"
#include "evener/runtime/remote_workers.h"

namespace evener {

struct CoordinatorOptions {
  std::string listen = "127.0.0.1:0";
  std::shared_ptr<Transport> transport;  // null: gRPC without TLS
  std::string token;                     // that workers must know; empty: none
  int least = 1, most = 1;               // workers needed to begin, and slots
  int servers = 0;                       // that hold a shard of the model each; 0: it is kept here
  Seconds patience = 60;  // to wait for `least` workers, and for one where none is left
  HeartbeatLimits heartbeats;
  /// Asked while it waits; not 0: a signal has come.
  std::function<int()> interrupted;
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

class ClusterCoordinator : public RemoteWorkers {
 public:
  /// Where workers reach it.
  virtual std::string address() const = 0;
  /// Workers can join from now on. Called before the engine is made.
  virtual void offer(Job job) = 0;
  /// How many pushes came twice, or for an order that is not the last one.
  virtual std::uint64_t ignored() const = 0;
  /// The run has failed. Workers and servers are told when the coordinator ends.
  virtual void fail(const std::string& why) = 0;
  /// The run's part of the answer to `evener status`: a JSON object.
  virtual void set_status(std::string json) = 0;
};

/// Listens at once. Error where it cannot.
std::unique_ptr<ClusterCoordinator> make_coordinator(const CoordinatorOptions& options);

}  // namespace evener
