// The scheduler's tasks: from an Assign decision to the rows and steps of a task, and from a task
// that has ended to the ledger and the next event. Pushes of a parameter server are also here.
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "evener/runtime/scheduler.h"

namespace evener {

namespace {

double factor_for(const RateRule& rule, const Assign& decision) {
  if (decision.update_rows == kAnyRows) return 1;
  return rate_factor(rule, decision.update_rows > 0 ? decision.update_rows : decision.rows);
}

}  // namespace

void Scheduler::report_cut(const Assign& decision) {
  if (decision.wanted == 0 || std::exchange(status(decision.worker).cut_reported, true)) return;
  cuts_.push_back(fmt::format("{}: its memory holds batches of {} rows, not of {}",
                              workers_[static_cast<std::size_t>(decision.worker)].name,
                              decision.rows, decision.wanted));
}

std::optional<Slice> Scheduler::cut(const Assign& decision) {
  EpochRows& rows = ledger_.rows();
  if (!pausing_) return rows.cut(decision.worker, decision.rows);
  if (auto slice = rows.cut_behind(decision.rows)) return slice;
  // An update that has begun uses its whole batch.
  const bool begun =
      decision.work == Work::gradient && gradient_step_.number == ledger_.position().step + 1;
  return begun ? rows.cut(decision.worker, decision.rows) : std::nullopt;
}

float Scheduler::learning_rate() {
  const double epoch = static_cast<double>(ledger_.position().epoch) + ledger_.rows().share();
  if (plan_.seconds == 0) return learning_rate_at(plan_.schedule, epoch);
  return learning_rate_at(plan_.schedule, epoch, plan_.time_share(trained()));
}

Step Scheduler::next_step(const Assign& decision) {
  const float rate = learning_rate();
  const double factor = decision.rate * factor_for(plan_.rates, decision);
  Step step;
  step.learning_rate = factor == 1 ? rate : static_cast<float>(static_cast<double>(rate) * factor);
  switch (decision.work) {
    case Work::local:
    case Work::copied:
    case Work::pushed:
      step.number = status(decision.worker).steps + 1;
      return step;
    case Work::in_place:
      step.number = steps_assigned_ + 1;
      return step;
    case Work::gradient:
      step.number = ledger_.position().step + 1;
      return step;
  }
  throw Error("an assignment has an unknown kind of work");
}

void Scheduler::assign(const Assign& decision) {
  check_worker("Assign", decision.worker);
  // The policy has not received the loss of this worker yet. Its rows stay for the others.
  if (status(decision.worker).lost) return;
  check_assign(decision);
  report_cut(decision);
  Task task;
  task.worker = decision.worker;
  task.work = decision.work;
  for (int i = 0; i < decision.parts; ++i) {
    Step step = next_step(decision);
    const auto slice = cut(decision);
    if (!slice) break;
    if (decision.by_rows && slice->nominal != decision.rows) {
      step.learning_rate *= static_cast<float>(slice->nominal) / static_cast<float>(decision.rows);
    }
    ++steps_assigned_;
    ++status(decision.worker).steps;
    task.parts.push_back({*slice, step});
  }
  if (task.parts.empty()) return notify(OutOfRows{decision.worker});
  // All gradients of a round make one update, with the learning rate of the first part.
  if (task.work == Work::gradient && gradient_step_.number != task.parts.front().step.number) {
    gradient_step_ = task.parts.front().step;
  }
  task.version = version_;
  task.assigned = executor_.now();
  ++under_way_;
  status(decision.worker).busy = true;
  const bool alone = workers_.size() == 1;
  if (!pausing_ && (alone || models_.prefetches(decision.worker))) {
    prefetching_.push_back({decision, std::move(task)});
  } else {
    executor_.start(std::move(task));
  }
}

/// Called after all assignments of one event, so that reservations do not change which rows a round
/// gets.
void Scheduler::start_prefetching_tasks() {
  for (auto& [decision, task] : prefetching_) {
    EpochRows& rows = ledger_.rows();
    const auto slice = workers_.size() == 1 ? rows.peek(decision.rows)
                                            : rows.reserve(decision.worker, decision.rows);
    if (slice) {
      const std::uint64_t number = task.parts.back().step.number + 1;
      task.next = Part{*slice, {number, next_step(decision).learning_rate}};
    }
    executor_.start(std::move(task));
  }
  prefetching_.clear();
}

void Scheduler::handle(Arrival arrival) {
  --under_way_;
  if (arrival.message) return deliver(*arrival.message);
  status(arrival.task.worker).busy = false;
  if (!arrival.failure.empty()) {
    models_.lose(arrival.task.worker);
    return drop(arrival.task.worker, arrival.failure, arrival.task.parts, arrival.blameless);
  }
  if (!arrival.invalid.empty()) return refuse_invalid_push(arrival);
  complete_task(arrival);
}

void Scheduler::complete_task(const Arrival& arrival) {
  invalid_in_a_row_ = 0;
  const Task& task = arrival.task;
  const WorkTraits work = traits_of(task.work);
  const double loss = arrival.loss_sum / static_cast<double>(task.rows());
  if (!std::isfinite(loss)) {
    throw DivergedError(
        fmt::format("the loss of step {} is not finite", task.parts.front().step.number));
  }
  timeline_.add_task(task, arrival.stats, work.shared ? version_ - task.version : 0);
  if (task.work == Work::pushed) {
    status(task.worker).pushed = true;
  } else {
    version_ += task.parts.size();
  }
  if (task.work != Work::gradient) ledger_.position().step += task.parts.size();
  // A single worker's replica is the global model, but its pushes can be rejected.
  const bool merges = workers_.size() > 1 || task.work == Work::pushed;
  ledger_.add_trained(task, arrival.loss_sum, work.merged_late && merges);
  const StepReport report{task.worker, task.rows(), loss, task.parts.front().step.learning_rate};
  ledger_.position().seconds = trained();
  if (!after_step_(report) || is_out_of_time()) pausing_ = true;
  const Seconds now = executor_.now();
  const double change = peers_ != nullptr ? peers_->change(task.worker) : 0;
  notify(Finished{task.worker, task.nominal(), now - task.assigned, now, change,
                  arrival.stats.compute});
}

/// The push is not finite or has the wrong shape. Many in a row mean that the training diverged.
void Scheduler::refuse_invalid_push(const Arrival& arrival) {
  constexpr int kMost = 5;
  const int worker = arrival.task.worker;
  const std::string& name = workers_[static_cast<std::size_t>(worker)].name;
  notes_.push_back(fmt::format("{}: a push was refused: {}", name, arrival.invalid));
  if (++invalid_in_a_row_ == kMost) {
    throw DivergedError(fmt::format("{} pushes in a row were refused, the last of {}: {}", kMost,
                                    name, arrival.invalid));
  }
  ledger_.return_invalid(arrival.task.parts);
  timeline_.add_reject(worker);
  notify(InvalidPush{worker, executor_.now()});
}

void Scheduler::apply_pushes(const ApplyPushes& decision) {
  auto& pushes = model_as<PushSharing>(models_, "ApplyPushes");
  for (const int worker : decision.workers) check_push("ApplyPushes", worker);
  const Seconds begin = executor_.now();
  {
    const MainSteps::Step step(executor_.main_steps());
    pushes.apply_pushes(decision);
  }
  executor_.pass_apply_pushes(decision.workers.size());
  timeline_.add_merge(begin, executor_.now());
  ++version_;
  for (const int worker : decision.workers) {
    status(worker).pushed = false;
    ledger_.mark_merged(worker);
  }
}

void Scheduler::reject_push(int worker) {
  auto& pushes = model_as<PushSharing>(models_, "Reject");
  check_push("Reject", worker);
  pushes.reject(worker);
  status(worker).pushed = false;
  timeline_.add_reject(worker);
  ledger_.return_rejected(worker);
}

}  // namespace evener
