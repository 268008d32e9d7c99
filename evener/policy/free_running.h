// The part that hogwild, hogbatch and adaptive-hogbatch share: a worker that is ready gets the next
// batch, and no worker waits for another. The strategy determines the batch.
#pragma once

#include "evener/policy/strategy.h"
#include "evener/policy/worker_set.h"

namespace evener {

class FreeRunning : public Policy {
 public:
  Decisions on(const Event& event) final;

 protected:
  /// The next batch of an idle worker, made with workers().assign.
  virtual Assign next(int worker) = 0;
  virtual void joined(int /*worker*/) {}
  virtual void finished(const Finished& /*event*/) {}

  WorkerSet& workers() { return workers_; }
  const WorkerSet& workers() const { return workers_; }

  /// In place: one sub-batch per thread. Otherwise: one batch on a copy.
  Assign hogbatch(int worker, std::size_t rows, double rate = 1);

 private:
  Decisions assign_idle();

  WorkerSet workers_;
  bool running_ = false;
};

/// The option `cpu-batch` of all three.
StrategyOption cpu_batch_option();
/// The options of hogbatch and adaptive-hogbatch.
std::vector<StrategyOption> hogbatch_options();
/// writeback=overwrite.
bool overwrites(const StrategyValues& values);

/// A hint for strategy `name`, which has fixed batch sizes, where a CPU thread trains single rows
/// on a large model.
std::string cpu_batch_hint(const std::string& name, const StrategyValues& values,
                           const HintSetup& setup);

}  // namespace evener
