#include "evener/runtime/scheduler.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace evener {

namespace {

constexpr int kMostNodeLosses = 9;

/// Most errors of a device begin with its name already, without what an emulation adds to it.
std::string blame(const std::string& name, const std::string& why) {
  const std::string device = name.substr(0, name.find(" (")) + ": ";
  return fmt::format("{}: {}", name, why.starts_with(device) ? why.substr(device.size()) : why);
}

}  // namespace

Scheduler::Scheduler(const EpochPlan& plan, Policy& policy, Models& models, Executor& executor,
                     std::vector<WorkerTraits> workers, Timeline& timeline)
    : plan_(plan),
      policy_(policy),
      models_(models),
      executor_(executor),
      workers_(std::move(workers)),
      timeline_(timeline),
      present_(0),
      ledgers_(workers_.size()) {
  for (int i = 0; i < static_cast<int>(workers_.size()); ++i) {
    if (executor_.is_there(i)) join(i);
  }
}

bool Scheduler::run_epoch(Position& position,
                          const std::function<bool(const StepReport&)>& after_step) {
  const std::size_t total = plan_.row_count();
  if (position.next_row >= total) return true;
  rows_.emplace(plan_, position.epoch, position.next_row);
  position_ = &position;
  after_step_ = after_step;
  pausing_ = false;
  distance_.reset();
  // Where a run goes on, each replica has done about its share of the steps.
  for (auto& ledger : ledgers_) {
    if (ledger.steps == 0) ledger.steps = position.step / ledgers_.size();
  }
  steps_assigned_ = position.step;
  models_.resume();
  drop_failures();
  hear();
  // Once, unless the last merge lost a worker and with it rows that are nobody's now.
  do {
    tell(EpochBegan{position.epoch, total, executor_.now()});
    for (hear(); under_way_ > 0 || waits_for_workers(); hear()) {
      if (auto arrival = executor_.next()) {
        complete_task(std::move(*arrival));
      } else {
        tell(TimerFired{executor_.now()});
      }
    }
    tell(EpochEnded{});
  } while (rows_->has_behind());
  for (auto& ledger : ledgers_) ledger.unmerged.clear();
  if (rows_->has_behind() || (!pausing_ && !rows_->exhausted())) {
    throw Error("the strategy left rows of the epoch untrained");
  }
  position.next_row = rows_->next_row();
  return rows_->exhausted();
}

void Scheduler::join(int worker) {
  ++present_;
  ledgers_[static_cast<std::size_t>(worker)].lost = false;
  timeline_.set_lost(worker, false);
  tell(Joined{worker, workers_[static_cast<std::size_t>(worker)]});
}

void Scheduler::hear() {
  for (const Change& change : executor_.take_changes()) {
    WorkerTraits& traits = workers_[static_cast<std::size_t>(change.worker)];
    switch (change.kind) {
      case Change::Kind::joined:
        notes_.push_back(fmt::format("{} has joined", traits.name));
        traits.most_rows = change.most_rows;
        join(change.worker);
        break;
      case Change::Kind::lost:
        lose(change.worker, change.why);
        break;
      case Change::Kind::suspected:
      case Change::Kind::trusted:
        tell(Suspected{change.worker, change.kind == Change::Kind::suspected, executor_.now()});
        break;
    }
  }
}

bool Scheduler::waits_for_workers() const {
  return present_ == 0 && executor_.awaits() && !pausing_ && !rows_->exhausted();
}

std::vector<std::uint64_t> Scheduler::steps() const {
  std::vector<std::uint64_t> steps;
  for (const auto& ledger : ledgers_) steps.push_back(ledger.steps);
  return steps;
}

void Scheduler::set_steps(std::span<const std::uint64_t> steps) {
  if (steps.size() != ledgers_.size()) return;  // other workers go on: each takes its share
  for (std::size_t i = 0; i < steps.size(); ++i) ledgers_[i].steps = steps[i];
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

void Scheduler::note_cut(const Assign& decision) {
  const auto index = static_cast<std::size_t>(decision.worker);
  if (decision.wanted == 0 || std::exchange(ledgers_[index].cut, true)) return;
  cuts_.push_back(fmt::format("{}: its memory holds batches of {} rows, not of {}",
                              workers_[index].name, decision.rows, decision.wanted));
}

void Scheduler::tell(const Event& event) {
  events_.push(event);
  if (telling_) return;  // the loop below comes to it
  telling_ = true;
  while (!events_.empty()) {
    const Event next = std::move(events_.front());
    events_.pop();
    for (const Decision& decision : policy_.on(next)) act(decision);
    start_foreseen();
  }
  telling_ = false;
}

void Scheduler::act(const Decision& decision) {
  if (const auto* assignment = std::get_if<Assign>(&decision)) return assign(*assignment);
  if (std::holds_alternative<Measure>(decision)) {
    const auto norms = models_.norms();
    drop_failures();
    return tell(Measured{norms});
  }
  if (const auto* note = std::get_if<Note>(&decision)) {
    notes_.push_back(note->text);
    return;
  }
  if (const auto* pushes = std::get_if<ApplyPushes>(&decision)) return apply_pushes(*pushes);
  if (const auto* push = std::get_if<Reject>(&decision)) return reject(push->worker);
  if (const auto* wake = std::get_if<SetTimer>(&decision)) return executor_.set_timer(wake->at);
  if (write(decision)) return;
  if (std::holds_alternative<Average>(decision)) return average();
  if (pausing_ || (rows_ && rows_->exhausted())) measure_distance();
  const Seconds begin = executor_.now();
  std::visit(Cases{[&](const Merge& d) { models_.merge(d); },
                   [&](const ElasticAverage& d) { models_.elastic_average(d); },
                   [&](const Apply& d) {
                     models_.apply(d, gradient_step_);
                     position_->step = gradient_step_.number;
                   },
                   [](const auto&) {}},
             decision);
  executor_.pass_merge();
  timeline_.add_merge(begin, executor_.now());
  for (int i = 0; i < static_cast<int>(ledgers_.size()); ++i) {
    if (!ledgers_[static_cast<std::size_t>(i)].lost) {
      timeline_.add_letter(i, executor_.merge_bytes(i), false);
    }
  }
  drop_failures();
  for (auto& ledger : ledgers_) {
    ledger.unmerged.clear();
    ledger.unmerged_loss = 0;
  }
  tell(Merged{executor_.now()});
}

/// Called before what brings replicas together for the last time in this stretch of an epoch.
/// Whoever fails meanwhile is left out of that too.
void Scheduler::measure_distance() {
  if (!plan_.measures_distance) return;
  const Seconds begin = executor_.now();
  distance_ = models_.distance();
  measuring_ += executor_.now() - begin;
}

void Scheduler::apply_pushes(const ApplyPushes& decision) {
  const Seconds begin = executor_.now();
  models_.apply_pushes(decision);
  executor_.pass_apply_pushes(decision.workers.size());
  timeline_.add_merge(begin, executor_.now());
  ++version_;
  for (const int worker : decision.workers) {
    WorkerLedger& ledger = ledgers_[static_cast<std::size_t>(worker)];
    ledger.unmerged.clear();
    ledger.unmerged_loss = 0;
  }
}

void Scheduler::reject(int worker) {
  models_.reject(worker);
  timeline_.add_reject(worker);
  WorkerLedger& ledger = ledgers_[static_cast<std::size_t>(worker)];
  for (const auto& slice : ledger.unmerged) rows_->put_back(slice);
  position_->loss_sum -= ledger.unmerged_loss;
  ledger.unmerged.clear();
  ledger.unmerged_loss = 0;
}

std::optional<Slice> Scheduler::cut(const Assign& decision) {
  if (!pausing_) return rows_->cut(decision.worker, decision.rows);
  if (auto slice = rows_->cut_behind(decision.rows)) return slice;
  // An update that is begun is made of its whole batch.
  const bool begun =
      decision.work == Work::gradient && gradient_step_.number == position_->step + 1;
  return begun ? rows_->cut(decision.worker, decision.rows) : std::nullopt;
}

Step Scheduler::next_step(const Assign& decision) {
  const double epoch = static_cast<double>(position_->epoch) + rows_->share();
  const float rate = learning_rate_at(plan_.schedule, epoch);
  Step step;
  step.learning_rate =
      decision.rate == 1 ? rate : static_cast<float>(static_cast<double>(rate) * decision.rate);
  switch (decision.work) {
    case Work::local:
    case Work::copied:
    case Work::pushed:
      step.number = ledgers_[static_cast<std::size_t>(decision.worker)].steps + 1;
      break;
    case Work::in_place:
      step.number = steps_assigned_ + 1;
      break;
    case Work::gradient:
      step.number = position_->step + 1;
      break;
  }
  return step;
}

void Scheduler::assign(const Assign& decision) {
  // Lost, which the policy is about to be told: its rows are still there for the others.
  if (ledgers_[static_cast<std::size_t>(decision.worker)].lost) return;
  note_cut(decision);
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
    ++ledgers_[static_cast<std::size_t>(decision.worker)].steps;
    task.parts.push_back({*slice, step});
  }
  if (task.parts.empty()) return tell(OutOfRows{decision.worker});
  // One update for the whole round: as its first part saw the schedule.
  if (task.work == Work::gradient && gradient_step_.number != task.parts.front().step.number) {
    gradient_step_ = task.parts.front().step;
  }
  task.version = version_;
  task.assigned = executor_.now();
  ++under_way_;
  const bool alone = workers_.size() == 1;
  if (!pausing_ && (alone || models_.looks_ahead(decision.worker))) {
    foreseen_.push_back({decision, std::move(task)});
  } else {
    executor_.start(std::move(task));
  }
}

/// After all batches that were asked for together, so that rounds are the same rows as ever.
void Scheduler::start_foreseen() {
  for (auto& [decision, task] : foreseen_) {
    const auto slice = workers_.size() == 1 ? rows_->peek(decision.rows)
                                            : rows_->set_aside(decision.worker, decision.rows);
    if (slice) {
      const std::uint64_t number = task.parts.back().step.number + 1;
      task.next = Part{*slice, {number, next_step(decision).learning_rate}};
    }
    executor_.start(std::move(task));
  }
  foreseen_.clear();
}

void Scheduler::complete_task(Arrival arrival) {
  --under_way_;
  if (arrival.message) {
    if (ledgers_[static_cast<std::size_t>(arrival.message->to)].lost) return;
    return tell(Delivered{*arrival.message, executor_.now()});
  }
  if (!arrival.failure.empty()) {
    models_.lose(arrival.task.worker);
    return drop(arrival.task.worker, arrival.failure, arrival.task.parts);
  }
  if (!arrival.invalid.empty()) return reject_push(arrival);
  invalid_in_a_row_ = 0;
  const Task& task = arrival.task;
  WorkerLedger& ledger = ledgers_[static_cast<std::size_t>(task.worker)];
  const auto rows = static_cast<double>(task.rows());
  const double loss = arrival.loss_sum / rows;
  if (!std::isfinite(loss)) {
    throw DivergedError(
        fmt::format("the loss of step {} is not finite", task.parts.front().step.number));
  }
  // On a replica of its own a worker misses nothing but the next merge.
  const bool shared = task.work != Work::local && task.work != Work::gradient;
  timeline_.add_task(task, arrival.spent, shared ? version_ - task.version : 0);
  if (task.work != Work::pushed) version_ += task.parts.size();
  position_->loss_sum += arrival.loss_sum;
  position_->next_row = rows_->next_row();
  if (task.work != Work::gradient) position_->step += task.parts.size();
  const bool unmerged = task.work != Work::in_place && task.work != Work::copied;
  if (unmerged && (workers_.size() > 1 || task.work == Work::pushed)) {
    for (const auto& part : task.parts) ledger.unmerged.push_back(part.slice);
    ledger.unmerged_loss += arrival.loss_sum;
  }
  const StepReport report{task.worker, task.rows(), loss, task.parts.front().step.learning_rate};
  if (!after_step_(report)) pausing_ = true;
  const Seconds now = executor_.now();
  tell(Finished{task.worker, task.nominal(), now - task.assigned, now, models_.change(task.worker),
                arrival.spent.compute});
}

void Scheduler::reject_push(const Arrival& arrival) {
  constexpr int kMost = 5;
  const int worker = arrival.task.worker;
  const std::string& name = workers_[static_cast<std::size_t>(worker)].name;
  notes_.push_back(fmt::format("{}: a push was refused: {}", name, arrival.invalid));
  if (++invalid_in_a_row_ == kMost) {
    throw DivergedError(fmt::format("{} pushes in a row were refused, the last of {}: {}", kMost,
                                    name, arrival.invalid));
  }
  for (const auto& part : arrival.task.parts) rows_->put_back(part.slice);
  timeline_.add_reject(worker);
  tell(InvalidPush{worker, executor_.now()});
}

void Scheduler::drop(int worker, const std::string& why, std::span<const Part> parts) {
  const auto index = static_cast<std::size_t>(worker);
  WorkerLedger& ledger = ledgers_[index];
  const std::string reason = blame(workers_[index].name, why);
  timeline_.set_lost(worker, true);
  if (--present_ == 0 && !executor_.awaits()) throw DeviceError(reason);
  dropped_workers_.push_back(reason);
  // Nodes go for many reasons that have nothing to do with what they were given.
  const int most = executor_.awaits() ? kMostNodeLosses : 1;
  std::size_t nominal = 0;
  const auto give_back = [&](const Slice& slice) {
    rows_->give_back(slice, most);
    nominal += slice.nominal;
  };
  if (rows_) rows_->release(worker);
  for (const auto& part : parts) give_back(part.slice);
  for (const auto& slice : ledger.unmerged) give_back(slice);
  if (position_ != nullptr) position_->loss_sum -= ledger.unmerged_loss;
  ledger = {};
  ledger.lost = true;
  tell(Lost{worker, nominal, executor_.now()});
}

void Scheduler::drop_failures() {
  for (auto& note : models_.take_notes()) notes_.push_back(std::move(note));
  for (const Failure& failure : models_.take_failures()) {
    WorkerLedger& ledger = ledgers_[static_cast<std::size_t>(failure.worker)];
    if (ledger.lost) continue;
    if (failure.merged) {
      ledger.unmerged.clear();
      ledger.unmerged_loss = 0;
    }
    drop(failure.worker, failure.why, {});
  }
}

void Scheduler::lose(int worker, const std::string& why) {
  models_.lose(worker);
  drop(worker, why, {});
}

}  // namespace evener
