// The part that hogwild, hogbatch and adaptive-hogbatch share: whoever is ready gets the next
// batch, and nobody waits for anybody. What the batch is, the policy says.
#pragma once

#include "evener/policy/worker_set.h"

namespace evener {

class FreeRunning : public Policy {
 public:
  Decisions on(const Event& event) final {
    Decisions decisions;
    std::visit(Cases{[&](const Joined& e) {
                       workers_.join(e);
                       joined(e.worker);
                       if (running_) decisions.push_back(next(e.worker));
                     },
                     [&](const Lost& e) {
                       workers_.lose(e.worker);
                       lost(e.worker);
                       if (running_) decisions = wake();  // its rows are back
                     },
                     [&](const EpochBegan&) {
                       running_ = true;
                       decisions = wake();
                     },
                     [&](const Finished& e) {
                       workers_.at(e.worker).busy = false;
                       finished(e);
                       decisions.push_back(next(e.worker));
                     },
                     [&](const OutOfRows& e) { workers_.at(e.worker).busy = false; },
                     [&](const EpochEnded&) { running_ = false; }, [](const auto&) {}},
               event);
    return decisions;
  }

 protected:
  /// The next batch of an idle worker, by way of workers().assign.
  virtual Assign next(int worker) = 0;
  virtual void joined(int /*worker*/) {}
  virtual void lost(int /*worker*/) {}
  virtual void finished(const Finished& /*event*/) {}

  WorkerSet& workers() { return workers_; }
  const WorkerSet& workers() const { return workers_; }

  /// In place, one sub-batch a thread; otherwise one batch on a copy.
  Assign hogbatch(int worker, std::size_t rows, double rate = 1) {
    const WorkerTraits& traits = workers_.at(worker).traits;
    return traits.in_place ? workers_.assign(worker, rows, Work::in_place, rate, traits.threads)
                           : workers_.assign(worker, rows, Work::copied, rate);
  }

 private:
  Decisions wake() {
    Decisions decisions;
    for (const int worker : workers_.present()) {
      if (!workers_.at(worker).busy) decisions.push_back(next(worker));
    }
    return decisions;
  }

  WorkerSet workers_;
  bool running_ = false;
};

}  // namespace evener
