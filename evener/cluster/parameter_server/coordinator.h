// The coordinator's side of a cluster: listens, gives slots to nodes that join, notices who goes
// silent, and carries tasks to nodes and their pushes back.
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
  std::shared_ptr<Transport> transport = make_grpc_transport();
  std::string token;        // that nodes must know; empty: none
  int least = 1, most = 1;  // nodes: to begin, and slots
  int servers = 0;          // that keep the model, a shard each; 0: it is kept here
  Seconds patience = 60;    // to wait where there are fewer than `least`, or none
  HeartbeatLimits heartbeats;
  /// Asked while it waits; not 0: a signal has come.
  std::function<int()> interrupted;
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

class ClusterCoordinator : public RemoteWorkers {
 public:
  /// Where nodes reach it.
  virtual std::string address() const = 0;
  /// Workers are welcome from now on. Before the engine is made.
  virtual void offer(Job job) = 0;
  /// Pushes that came twice, or for an order that is not the last one.
  virtual std::uint64_t ignored() const = 0;
  /// The run has failed, which nodes and servers are told when it ends.
  virtual void fail(const std::string& why) = 0;
  /// What `evener status` is answered.
  virtual void set_status(std::string json) = 0;
};

/// Listens at once. Error where it cannot.
std::unique_ptr<ClusterCoordinator> make_coordinator(const CoordinatorOptions& options);

}  // namespace evener
