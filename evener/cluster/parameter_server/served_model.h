// The coordinator's model of a cluster: the parameters that workers pull from and push to, held by
// the coordinator or by shard servers, and a device for evaluation.
#pragma once

#include <memory>

#include "evener/cluster/parameter_server/shard_host.h"
#include "evener/cluster/parameter_server/worker_states.h"
#include "evener/runtime/model_kinds.h"

namespace evener {

class ShardServers;

class ServedModel : public PushSharing {
 public:
  /// How many shards the model has: a push has a part for each.
  virtual int shards() const { return 1; }
  /// Null where shard servers hold the model.
  virtual std::shared_ptr<ShardHost> host() { return nullptr; }
  /// Sends the order to the worker, with the model as it is now. The worker may push once.
  virtual void send_order(int worker, std::uint64_t generation, wire::Order order,
                          const std::shared_ptr<Channel>& to) = 0;

  double compute(const Task& /*task*/) override {
    throw Error("tasks of a cluster run on its workers");
  }
};

/// The coordinator holds the model.
std::unique_ptr<ServedModel> make_served_model(const ModelSetup& setup, std::size_t slots,
                                               const Compression& compression,
                                               WorkerStates& worker_states);
/// These servers hold the model. All of them are connected, and they outlive it.
std::unique_ptr<ServedModel> make_served_model(const ModelSetup& setup, std::size_t slots,
                                               const Compression& compression,
                                               WorkerStates& worker_states, ShardServers& servers);

}  // namespace evener
