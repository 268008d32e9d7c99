// Workers that are not this process's own devices: who they are, where their model is and what
// runs their tasks. The engine is the same with them.
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

  /// One a place that a worker can have; which are taken says the executor.
  virtual std::vector<WorkerTraits> slots() const = 0;
  /// `setup` has the device that evaluates.
  virtual std::unique_ptr<Models> make_models(const ModelSetup& setup,
                                              const StrategyChoice& strategy) = 0;
  /// For the models just made. Returns when there are enough workers to begin.
  virtual std::unique_ptr<Executor> make_executor() = 0;
};

}  // namespace evener
