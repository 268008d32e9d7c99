// The epoch loop: events to the policy, its decisions carried out, and merges over all workers.
#include "evener/runtime/scheduler.h"

#include <utility>

#include <fmt/format.h>

namespace evener {

namespace {

/// Also when an error ends the epoch: the caller's position may not exist after that.
struct ClosesLedger {
  EpochLedger& ledger;
  ~ClosesLedger() { ledger.close(); }
};

}  // namespace

Scheduler::Scheduler(const EpochPlan& plan, Policy& policy, Models& models, Executor& executor,
                     std::vector<WorkerTraits> workers, Timeline& timeline)
    : plan_(plan),
      policy_(policy),
      models_(models),
      peers_(dynamic_cast<const PeerSharing*>(&models)),
      executor_(executor),
      workers_(std::move(workers)),
      timeline_(timeline),
      ledger_(workers_.size()),
      statuses_(workers_.size()) {
  for (int i = 0; i < static_cast<int>(workers_.size()); ++i) {
    if (executor_.is_present(i)) join(i);
  }
}

bool Scheduler::run_epoch(Position& position,
                          const std::function<bool(const StepReport&)>& after_step) {
  const std::size_t total = plan_.row_count();
  if (position.next_row >= total) return true;
  not_training_ = now() - position.seconds;  // the order of the epoch's rows counts as training
  ledger_.open(plan_, position);
  const ClosesLedger closes{ledger_};
  after_step_ = after_step;
  pausing_ = false;
  // Nothing may arrive before the end of the time if every worker is lost.
  if (plan_.seconds > 0 && executor_.waits_for_workers()) {
    executor_.set_timer(executor_.now() + plan_.seconds - position.seconds);
  }
  distance_.reset();
  // In a resumed run, each replica has done about its share of the steps.
  for (auto& worker : statuses_) {
    if (worker.steps == 0) worker.steps = position.step / statuses_.size();
  }
  steps_assigned_ = position.step;
  models_.resume();
  drop_failures();
  update_membership();
  const EpochRows& rows = ledger_.rows();
  // Once, unless a worker fails in the last merge: its rows are then trained in another round.
  do {
    const std::size_t left = total - rows.next_row() + rows.behind();
    notify(EpochBegan{position.epoch, left, executor_.now()});
    for (update_membership(); under_way_ > 0 || waits_for_workers(); update_membership()) {
      events_since_wait_ = 0;
      if (auto arrival = executor_.next()) {
        handle(std::move(*arrival));
      } else if (!pausing_ && executor_.interrupted()) {
        pausing_ = true;
      } else {
        pausing_ = pausing_ || is_out_of_time();
        notify(TimerFired{executor_.now()});
      }
    }
    notify(EpochEnded{});
  } while (rows.has_behind() && !rewinds());
  position.seconds = trained();
  if (!pausing_ && !rows.exhausted()) {
    throw Error(
        fmt::format("the policy left rows of the epoch untrained: no worker is busy, and "
                    "{} of {} rows were assigned",
                    rows.next_row() - rows.behind(), total));
  }
  position.next_row = rows.next_row();
  return rows.exhausted();
}

/// A run that pauses without workers cannot train the rows that they had: it goes back to them.
bool Scheduler::rewinds() {
  if (!pausing_ || present_ > 0) return false;
  if (ledger_.rows().rewind()) return true;
  throw Error(fmt::format("interrupted while no worker was left for {} rows of the epoch",
                          ledger_.rows().behind()));
}

std::vector<std::uint64_t> Scheduler::steps() const {
  std::vector<std::uint64_t> steps;
  for (const auto& worker : statuses_) steps.push_back(worker.steps);
  return steps;
}

void Scheduler::set_steps(std::span<const std::uint64_t> steps) {
  if (steps.size() != statuses_.size()) return;  // other workers continue: each takes its share
  for (std::size_t i = 0; i < steps.size(); ++i) statuses_[i].steps = steps[i];
}

std::vector<std::string> Scheduler::take_dropped_workers() {
  return std::exchange(dropped_workers_, {});
}

std::vector<std::string> Scheduler::take_notes() {
  return std::exchange(notes_, {});
}

std::vector<std::string> Scheduler::take_cuts() {
  return std::exchange(cuts_, {});
}

/// Decisions may cause more events: those wait until the decisions at hand are carried out.
void Scheduler::notify(const Event& event) {
  events_.push(event);
  if (notifying_) return;
  notifying_ = true;
  while (!events_.empty()) {
    const Event next = std::move(events_.front());
    events_.pop();
    check_progress();
    for (const Decision& decision : policy_.on(next)) act(decision);
    start_prefetching_tasks();
  }
  notifying_ = false;
}

void Scheduler::act(const Decision& decision) {
  dispatch(
      decision, [&](const Assign& d) { assign(d); }, [&](const Merge& d) { merge(d); },
      [&](const ElasticAverage& d) { elastic_average(d); }, [&](const Apply& d) { apply(d); },
      [&](const ApplyPushes& d) { apply_pushes(d); },
      [&](const Reject& d) { reject_push(d.worker); },
      [&](const SetTimer& d) { executor_.set_timer(d.at); },
      [&](const Measure& /*d*/) { measure_norms(); },
      [&](const Note& d) { notes_.push_back(d.text); }, [&](const Offer& d) { offer(d); },
      [&](const Answer& d) { answer(d); }, [&](const Decline& d) { decline(d); },
      [&](const CompleteExchange& d) { complete_exchange(d); },
      [&](const Average& /*d*/) { average(); });
}

void Scheduler::merge(const Merge& decision) {
  auto& replicas = model_as<ReplicaSharing>(models_, "Merge");
  check_all_idle("Merge");
  Merge merge = decision;
  merge.weights = checked_weights("Merge", std::move(merge.weights));
  if (is_last_merge()) measure_distance(replicas);
  merge_all([&] { replicas.merge(merge); }, replicas.merged_vectors(merge));
}

void Scheduler::elastic_average(const ElasticAverage& decision) {
  auto& replicas = model_as<ReplicaSharing>(models_, "ElasticAverage");
  check_all_idle("ElasticAverage");
  if (is_last_merge()) measure_distance(replicas);
  merge_all([&] { replicas.elastic_average(decision); });
}

void Scheduler::apply(const Apply& decision) {
  auto& gradients = model_as<GradientSharing>(models_, "Apply");
  check_all_idle("Apply");
  const Apply apply{checked_weights("Apply", decision.weights)};
  merge_all([&] {
    gradients.apply(apply, gradient_step_);
    ledger_.position().step = gradient_step_.number;
  });
}

void Scheduler::measure_norms() {
  auto& replicas = model_as<ReplicaSharing>(models_, "Measure");
  check_all_idle("Measure");
  const auto norms = replicas.norms();
  drop_failures();
  notify(Measured{norms});
}

template <class F>
void Scheduler::merge_all(F merge, std::size_t vectors) {
  const Seconds begin = executor_.now();
  {
    const MainSteps::Step step(executor_.main_steps());
    merge();
  }
  executor_.pass_merge(vectors);
  timeline_.add_merge(begin, executor_.now());
  for (int i = 0; i < static_cast<int>(statuses_.size()); ++i) {
    if (!status(i).lost) timeline_.add_message(i, executor_.merge_bytes(i, vectors));
  }
  drop_failures();
  ledger_.mark_all_merged();
  notify(Merged{executor_.now()});
}

}  // namespace evener
