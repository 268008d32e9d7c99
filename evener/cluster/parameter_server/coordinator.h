// The coordinator of a cluster: it listens, assigns slots to workers that join, evicts silent
// workers, sends tasks to workers and receives their pushes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "evener/cluster/membership/heartbeats.h"
#include "evener/cluster/membership/progress_watch.h"
#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/job.h"
#include "evener/runtime/remote_workers.h"

namespace evener {

struct CoordinatorOptions {
  std::string listen = "127.0.0.1:0";
  std::shared_ptr<Transport> transport;  // null: gRPC without TLS
  std::string token;                     // that workers must send; empty: none
  int least = 1, most = 1;               // workers needed to start, and slots
  int servers = 0;                       // shard servers; 0: the coordinator holds the model
  Seconds patience = 60;  // timeout for `least` workers to join, and for one where none is left
  HeartbeatLimits heartbeats;
  StallLimits stall;
  /// Polled while it waits. Not 0: this signal was received, and the run pauses. Tasks that take
  /// longer than `grace` after that are given up.
  std::function<int()> interrupted;
  Seconds grace = 0.5;
  /// The worker in this slot was lost, and why. Called on any thread. Null: nothing but that is
  /// done, and another worker may take the slot.
  std::function<void(int slot, const std::string& why)> lost;
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

class ClusterCoordinator : public RemoteWorkers {
 public:
  /// Where workers reach it.
  virtual std::string address() const = 0;
  /// Workers can join from now on. Called before the engine is made.
  virtual void offer(Job job) = 0;
  /// How many pushes were ignored: repeated, or for an order that is not the last one.
  virtual std::uint64_t ignored() const = 0;
  /// The run has failed. The coordinator reports it to workers and servers when it ends.
  virtual void fail(const std::string& why) = 0;
  /// The run's part of the answer to `evener status`: a JSON object.
  virtual void set_status(std::string json) = 0;
};

/// Listens at once. Error where it cannot.
std::unique_ptr<ClusterCoordinator> make_coordinator(const CoordinatorOptions& options);

}  // namespace evener
