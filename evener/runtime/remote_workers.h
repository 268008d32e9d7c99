// Workers in other processes. This interface gives the engine their traits, their model and their
// executor; the rest of the engine is the same as for local devices. The coordinator of a cluster
// implements it.
#pragma once

#include <memory>
#include <vector>

#include "evener/policy/policy.h"
#include "evener/runtime/executor.h"
#include "evener/runtime/models.h"

namespace evener {

class RemoteWorkers {
 public:
  virtual ~RemoteWorkers() = default;

  /// The traits of each worker slot. The executor says which slots have a worker.
  virtual std::vector<WorkerTraits> slots() const = 0;
  /// The only device of `setup` is for evaluation.
  virtual std::unique_ptr<Models> make_models(const ModelSetup& setup,
                                              const StrategyChoice& strategy) = 0;
  /// For the models that make_models() returned last. Returns when enough workers have joined.
  virtual std::unique_ptr<Executor> make_executor() = 0;
};

}  // namespace evener
