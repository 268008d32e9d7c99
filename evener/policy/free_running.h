// The part that hogwild, hogbatch and adaptive-hogbatch share: whoever is ready gets the next
// batch, and nobody waits for anybody. What the batch is, the policy says.
#pragma once

#include "evener/policy/crew.h"

namespace evener {

class FreeRunning : public Policy {
 public:
  Decisions on(const Event& event) final {
    Decisions decisions;
    std::visit(Cases{[&](const Joined& e) {
                       crew_.join(e);
                       joined(e.worker);
                       if (running_) decisions.push_back(next(e.worker));
                     },
                     [&](const Lost& e) {
                       crew_.lose(e.worker);
                       lost(e.worker);
                       if (running_) decisions = wake();  // its rows are back
                     },
                     [&](const EpochBegan&) {
                       running_ = true;
                       decisions = wake();
                     },
                     [&](const Finished& e) {
                       crew_.at(e.worker).busy = false;
                       finished(e);
                       decisions.push_back(next(e.worker));
                     },
                     [&](const Dry& e) { crew_.at(e.worker).busy = false; },
                     [&](const EpochEnded&) { running_ = false; }, [](const auto&) {}},
               event);
    return decisions;
  }

 protected:
  /// The next batch of an idle worker, by way of crew().assign.
  virtual Assign next(int worker) = 0;
  virtual void joined(int /*worker*/) {}
  virtual void lost(int /*worker*/) {}
  virtual void finished(const Finished& /*event*/) {}

  Crew& crew() { return crew_; }
  const Crew& crew() const { return crew_; }

  /// In place, one sub-batch a thread; otherwise one batch on a copy.
  Assign hogbatch(int worker, std::size_t rows, double rate = 1) {
    const WorkerTraits& traits = crew_.at(worker).traits;
    return traits.in_place ? crew_.assign(worker, rows, Work::in_place, rate, traits.threads)
                           : crew_.assign(worker, rows, Work::copied, rate);
  }

 private:
  Decisions wake() {
    Decisions decisions;
    for (const int worker : crew_.present()) {
      if (!crew_.at(worker).busy) decisions.push_back(next(worker));
    }
    return decisions;
  }

  Crew crew_;
  bool running_ = false;
};

}  // namespace evener
