// The part that sync, elastic, sma and local-sgd share: rounds in which every worker trains a
// number of batches, and a decision between rounds. Fast workers wait for slow ones: these are the
// baselines.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "evener/policy/strategy.h"
#include "evener/policy/worker_set.h"

namespace evener {

class Rounds : public Policy {
 public:
  Rounds(std::size_t steps, std::size_t rows, Work work)
      : steps_(steps), rows_(rows), work_(work) {}

  Decisions on(const Event& event) final;

 protected:
  /// The decisions that end a round. `rows`: trained by each worker in it; 0 for lost workers.
  virtual Decision end_of_round(const std::vector<std::size_t>& rows) = 0;
  /// Rows of each of these workers' next batch; 0: none for it.
  virtual std::vector<std::size_t> parts(const std::vector<int>& workers) {
    return std::vector<std::size_t>(workers.size(), rows_);
  }
  /// Rows of the update that a step of one of so many workers is a part of; 0: the step's own.
  virtual std::size_t update_rows(std::size_t /*workers*/) const { return 0; }
  /// Rows of one more batch in the same round, for a worker that has trained so many batches; 0: no
  /// more.
  virtual std::size_t again(std::size_t done) { return done < steps_ ? rows_ : 0; }
  virtual void finished(const Finished&) {}
  virtual void left(int /*worker*/) {}

  void note(std::string text) { decisions_.emplace_back(Note{std::move(text)}); }
  const std::string& name(int worker) const { return workers_.at(worker).traits.name; }

 private:
  void begin_round();
  void assign(int worker, std::size_t rows);
  void finish_batch(const Finished& event);
  void run_out_of_rows(int worker);
  /// The decision that ends the round, and the next round unless the epoch has no rows left.
  void next_round();
  void end_round();

  std::size_t steps_, rows_;
  Work work_;
  WorkerSet workers_;
  bool running_ = false;
  bool out_of_rows_ = false;  // the epoch has no rows left
  std::vector<std::size_t> steps_done_, rows_done_;
  std::size_t update_rows_ = 0;  // of the round's steps
  Decisions decisions_;
};

/// The option `step` of strategies that average replicas: a device's step has its part of the run's
/// batch (ours), or all of it, as published.
StrategyOption step_option();
/// Rows of a device's step, and of the update that it is a part of; 0: the step's own.
std::size_t step_rows(const PolicyConfig& config);
std::size_t rows_of_update(const PolicyConfig& config, std::size_t workers);

}  // namespace evener
