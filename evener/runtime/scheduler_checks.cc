// What a policy must not decide. A program can bring its own policy, so every decision is checked
// before it is carried out: a wrong one ends the run with an Error that names it.
#include <cmath>

#include <fmt/format.h>

#include "evener/runtime/scheduler.h"

namespace evener {

void Scheduler::check_worker(const char* decision, int worker) const {
  if (worker >= 0 && worker < static_cast<int>(statuses_.size())) return;
  throw Error(fmt::format("the policy decided {} for worker {}, but there are {} workers", decision,
                          worker, statuses_.size()));
}

void Scheduler::check_idle(const char* decision, int worker) const {
  check_worker(decision, worker);
  if (!status(worker).busy) return;
  throw Error(fmt::format("the policy decided {} for worker {}, which is busy", decision, worker));
}

void Scheduler::check_all_idle(const char* decision) const {
  for (int i = 0; i < static_cast<int>(statuses_.size()); ++i) {
    if (!status(i).busy) continue;
    throw Error(fmt::format("the policy decided {} while worker {} is busy", decision, i));
  }
}

std::vector<double> Scheduler::checked_weights(const char* decision,
                                               std::vector<double> weights) const {
  if (weights.size() < known_ || weights.size() > statuses_.size()) {
    throw Error(fmt::format("the policy decided {} with {} weights, but there are {} workers",
                            decision, weights.size(), statuses_.size()));
  }
  for (const double weight : weights) {
    if (std::isfinite(weight)) continue;
    throw Error(fmt::format("the policy decided {} with the weight {}", decision, weight));
  }
  weights.resize(statuses_.size(), 0);
  return weights;
}

void Scheduler::check_exchange(const char* decision, int worker, int other) const {
  check_idle(decision, worker);
  check_worker(decision, other);
  if (worker != other) return;
  throw Error(fmt::format("the policy decided {} of worker {} with itself", decision, worker));
}

void Scheduler::check_push(const char* decision, int worker) const {
  check_worker(decision, worker);
  // The policy may not have received the loss of this worker yet.
  if (status(worker).lost || status(worker).pushed) return;
  throw Error(
      fmt::format("the policy decided {} for worker {}, which has not pushed", decision, worker));
}

void Scheduler::check_assign(const Assign& decision) const {
  check_idle("Assign", decision.worker);
  if (decision.rows == 0 || decision.parts <= 0) {
    throw Error(fmt::format("the policy assigned {} parts of {} rows to worker {}", decision.parts,
                            decision.rows, decision.worker));
  }
  if (!std::isfinite(decision.rate)) {
    throw Error(fmt::format("the policy assigned a learning rate factor of {} to worker {}",
                            decision.rate, decision.worker));
  }
  if (!models_.can_run(decision.worker, decision.work)) {
    throw Error(
        fmt::format("the policy assigned '{}' to worker {}, which the strategy's model, of "
                    "kind '{}', cannot run",
                    traits_of(decision.work).name, decision.worker, models_.kind()));
  }
}

void Scheduler::check_progress() {
  const std::size_t most = 100 * (statuses_.size() + 10);
  if (++events_since_wait_ <= most) return;
  throw Error(
      fmt::format("the policy received {} events in a row while no worker could make "
                  "progress: its decisions cause the same events again",
                  most));
}

}  // namespace evener
