// The part that hogwild, hogbatch and adaptive-hogbatch share: a worker that is ready gets the next
// batch, and no worker waits for another. The strategy determines the batch.
#pragma once

#include "evener/policy/epoch_tail.h"
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

  /// `anchored`: the learning rate of a step follows its rows (nn/rate_rule.h). `shares_tail`:
  /// at the end of an epoch slow workers get smaller batches (epoch_tail.h). `cpu_rows`: the most
  /// rows of a CPU's task; 0: no limit.
  explicit FreeRunning(bool anchored = true, bool shares_tail = true, std::size_t cpu_rows = 0)
      : anchored_(anchored), shares_tail_(shares_tail), cpu_rows_(cpu_rows) {}

  /// The most rows of a sub-batch, where the worker trains in place.
  std::size_t most_rows(const WorkerTraits& traits) const;

  /// In place: one sub-batch per thread. Otherwise: one batch on a copy.
  Assign hogbatch(int worker, std::size_t rows);

 private:
  void give_batch(int worker);
  void assign_idle();

  bool anchored_, shares_tail_;
  std::size_t cpu_rows_;
  EpochTail tail_;
  Decisions decisions_;
  WorkerSet workers_;
  bool running_ = false;
};

}  // namespace evener
