// The coordinator's model in a cluster: what nodes pull from and push to, here or at servers, and a
// device of the coordinator's own to evaluate with.
#pragma once

#include <memory>

#include "evener/cluster/parameter_server/push_pull_session.h"
#include "evener/cluster/parameter_server/worker_states.h"
#include "evener/runtime/model_kinds.h"

namespace evener {

class ShardServers;

class ServedModel : public PushSharing {
 public:
  /// Null where servers keep the model; then there are so many of them.
  virtual ServedShard* served() { return nullptr; }
  virtual int servers() const { return 0; }
  /// With servers: they give the node the model as it is now, and let it push once.
  virtual void grant(int /*node*/, std::uint64_t /*generation*/, std::uint64_t /*sequence*/) {}

  double compute(const Task& /*task*/) override {
    throw Error("tasks of a cluster run on its nodes");
  }
};

/// It is kept here.
std::unique_ptr<ServedModel> make_served_model(const ModelSetup& setup, std::size_t slots,
                                               const Compression& compression,
                                               WorkerStates& worker_states);
/// It is kept by these servers, which are all there and outlive it.
std::unique_ptr<ServedModel> make_served_model(const ModelSetup& setup, std::size_t slots,
                                               const Compression& compression,
                                               WorkerStates& worker_states, ShardServers& servers);

}  // namespace evener
