#include "evener/policy/free_running.h"

#include <algorithm>

namespace evener {

Decisions FreeRunning::on(const Event& event) {
  decisions_.clear();
  dispatch(
      event,
      [&](const Joined& e) {
        workers_.join(e);
        joined(e.worker);
        if (running_) give_batch(e.worker);
      },
      [&](const Lost& e) {
        workers_.lose(e.worker);
        tail_.lose(e.worker);
        tail_.put_back(e.rows);
        if (running_) assign_idle();
      },
      [&](const EpochBegan& e) {
        running_ = true;
        tail_.begin(e.rows);
        assign_idle();
      },
      [&](const Finished& e) {
        workers_.at(e.worker).busy = false;
        tail_.finished(e.worker, e.rows, e.seconds);
        finished(e);
        give_batch(e.worker);
      },
      [&](const OutOfRows& e) { workers_.at(e.worker).busy = false; },
      [&](const EpochEnded&) { running_ = false; },
      Ignore<Suspected, InvalidPush, Delivered, Measured, Merged, TimerFired>{});
  return decisions_;
}

void FreeRunning::give_batch(int worker) {
  // With no other worker busy nobody would take the rest of the epoch.
  const bool only = workers_.idle();
  Assign assign = next(worker);
  const auto parts = static_cast<std::size_t>(assign.parts);
  const std::size_t wanted = assign.rows * parts;
  const std::size_t allowed = shares_tail_ && !only ? tail_.allow(worker, wanted) : wanted;
  if (allowed == 0) {
    workers_.at(worker).busy = false;
    return;
  }
  if (allowed < wanted) {
    assign.parts = static_cast<int>(std::min(parts, allowed));
    assign.rows = std::max<std::size_t>(1, allowed / parts);
  }
  tail_.took(assign.rows * static_cast<std::size_t>(assign.parts));
  decisions_.emplace_back(assign);
}

Assign FreeRunning::hogbatch(int worker, std::size_t rows) {
  const WorkerTraits& traits = workers_.at(worker).traits;
  Assign assign = traits.in_place ? workers_.assign(worker, std::min(rows, most_rows(traits)),
                                                    Work::in_place, 1, traits.threads)
                                  : workers_.assign(worker, rows, Work::copied);
  if (!anchored_) assign.update_rows = kAnyRows;
  return assign;
}

std::size_t FreeRunning::most_rows(const WorkerTraits& traits) const {
  if (cpu_rows_ == 0) return kMostRows;
  return std::max<std::size_t>(1, cpu_rows_ / static_cast<std::size_t>(traits.threads));
}

void FreeRunning::assign_idle() {
  for (const int worker : workers_.idle_workers()) give_batch(worker);
}

}  // namespace evener
