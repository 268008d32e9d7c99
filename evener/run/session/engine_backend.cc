#include "evener/run/session/engine_backend.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "evener/core/cores.h"
#include "evener/core/error.h"
#include "evener/core/time.h"
#include "evener/run/session/new_run.h"
#include "evener/run/session/shortlist_fit.h"

namespace evener {

namespace {

constexpr Seconds kLeastSeconds = 1e-6;  // a plan without time has no end

}  // namespace

RunDevices EngineBackend::open_run_devices(const TrainOptions& options,
                                           const DeviceContext& context) {
  if (options.resume.empty()) return open_devices(options, context);
  try {
    return open_devices(options, context);
  } catch (const UsageError& problem) {
    // The devices come from the run's config.toml, and this may be another machine.
    throw UsageError(fmt::format("{} (to resume on --devices {}; name others with --devices)",
                                 problem.what(), options.devices));
  }
}

void EngineBackend::set_up(TrainOptions& options, const std::string& strategy, RunDevices devices,
                           bool tries_devices, std::shared_ptr<RemoteWorkers> remote_workers) {
  TrainOptions resolved = options;
  resolved.strategy = strategy;
  check_options(resolved);
  tries_devices_ = tries_devices;
  if (!tries_devices) options.strategy = strategy;
  setup_ = engine_setup(resolved, std::move(devices));
  setup_.remote_workers = std::move(remote_workers);
  setup_ = checked(std::move(setup_));
}

void EngineBackend::check(const TrainOptions& options, const TrainingData& data,
                          const Network& network) {
  if (options.has_shortlist()) check_shortlist(options, data);
  set_training(setup_, options, data, network);
  setup_ = checked(std::move(setup_));
  device_names_.clear();
  for (const auto& device : setup_.devices) device_names_.push_back(device->name());
}

void EngineBackend::start(const TrainOptions& options, const TrainingData& data,
                          Checkpoint& start) {
  const Progress& progress = start.progress;
  position_ = {progress.step, progress.epoch, progress.next_row, progress.train_loss_sum,
               progress.training_seconds};
  preparation_ = 0;
  if (!options.has_shortlist()) return make_engine(options, data, start);
  options_ = options;
  shortlist_ = std::make_unique<ShortlistRun>(options, data, preparing_threads());
}

int EngineBackend::preparing_threads() const {
  int threads = 0;
  for (const auto& device : setup_.devices) threads += device->in_place_threads();
  return std::clamp(threads, 1, available_cores());
}

bool EngineBackend::prepare(Checkpoint& start) {
  if (!shortlist_) return true;
  const Stopwatch watch;
  const auto stop = [this] { return context_.interrupted && context_.interrupted() != 0; };
  if (!shortlist_->prepare(start.model, context_.say, stop)) return false;
  // A simulation is of the steps.
  if (!setup_.virtual_time) preparation_ = watch.elapsed();
  const Seconds left = options_.seconds - position_.seconds - preparation_;
  if (options_.seconds > 0 && left <= 0) {
    context_.say(
        fmt::format("the preparation took {:.1f} s, and no time is left to train the network part",
                    preparation_));
  }
  make_engine(options_, shortlist_->data(), start);
  return true;
}

Position EngineBackend::position() const {
  Position position = position_;
  position.seconds += preparation_;
  return position;
}

void EngineBackend::make_engine(const TrainOptions& options, const TrainingData& data,
                                Checkpoint& start) {
  const Network& network = start.model.network;
  const Progress& progress = start.progress;
  optimizer_vectors_ = static_cast<std::size_t>(state_vectors(training_of(options).optimizer));
  set_training(setup_, options, data, network);
  // The schedule follows the time of the steps. It ends no sooner than the run by rounding.
  if (setup_.plan.seconds > 0 && preparation_ > 0) {
    setup_.plan.seconds = std::max(setup_.plan.seconds - preparation_, 0.0) + kLeastSeconds;
  }
  hint_ = batch_hint(setup_, network);
  begin_ = setup_.virtual_time ? progress.training_seconds : 0;
  if (setup_.virtual_time) setup_.virtual_time->begins_at = begin_;
  selector_ = std::make_unique<DeviceSelector>(std::move(setup_), tries_devices_);
  engine().set_steps(progress.worker_steps);
  give_state(start);
  if (progress.step > 0) models().restore(std::exchange(start.kept, {}));
}

std::string EngineBackend::description() const {
  const StrategyChoice& strategy = engine().strategy();
  return fmt::format("{} on {}{}{}", engine().is_virtual() ? "simulating training" : "training",
                     engine().device_names(),
                     !has_resolved_auto()                            ? ", whichever are worth it"
                     : strategy.strategy->sharing == Sharing::single ? ""
                                                                     : " by " + strategy.text(),
                     shortlist_ ? fmt::format(", with {:.0f} candidate labels a row",
                                              shortlist_->candidates_a_row())
                                : "");
}

bool EngineBackend::run_epoch(bool measures_distance, const AfterStep& after_step) {
  rows_trained_ = position_.next_row;
  engine().plan().measures_distance = measures_distance;
  training_ = true;
  const bool whole = selector_->run_epoch(position_, [&](const StepReport& report) {
    rows_trained_ += report.rows;
    return after_step(report);
  });
  training_ = false;
  return whole;
}

double EngineBackend::loss() const {
  const std::uint64_t rows = training_ ? rows_trained_ : position_.next_row;
  return position_.loss_sum / std::max<double>(1, static_cast<double>(rows));
}

BackendNews EngineBackend::take_news(TrainOptions& options) {
  BackendNews news;
  news.warnings = engine().take_cuts();
  if (shortlist_) news.notes = shortlist_->take_notes();
  for (auto& note : selector_->take_notes()) news.notes.push_back(std::move(note));
  news.lost_workers = selector_->take_dropped_workers();
  if (const auto choice = selector_->take_choice()) {
    news.notes.insert(news.notes.end(), choice->notes.begin(), choice->notes.end());
    keep_choice(options, *choice);
    options.strategy = choice->strategy;
    news.resolved_auto = true;
    news.resolved_at = selector_->chosen_at() - begin_;
  }
  return news;
}

BackendReport EngineBackend::report(double seconds) const {
  BackendReport report;
  report.strategy = engine().strategy().text();
  report.timeline = &engine().timeline();
  report.workers = worker_results(engine().timeline(), seconds - preparation_);
  report.communication = selector_->communication();
  report.exchanges_name = exchanges_name(engine().strategy().strategy->sharing);
  report.replica_distance = engine().distance();
  return report;
}

void EngineBackend::evaluate(const std::function<void(Replica&)>& use) {
  engine().evaluate([&](Replica& replica) {
    if (shortlist_) return shortlist_->evaluate(replica, use);
    use(replica);
  });
}

void EngineBackend::take_state(Checkpoint& checkpoint) {
  checkpoint.kept = models().keep();
  checkpoint.model.parameters = models().take(0);
  for (std::size_t i = 0; i < optimizer_vectors_; ++i) {
    checkpoint.state[i] = models().take(static_cast<int>(i) + 1);
  }
  checkpoint.progress.worker_steps = engine().steps();
}

void EngineBackend::give_state(Checkpoint& checkpoint) {
  models().give(0, std::move(checkpoint.model.parameters));
  for (std::size_t i = 0; i < optimizer_vectors_; ++i) {
    models().give(static_cast<int>(i) + 1, std::move(checkpoint.state[i]));
  }
}

BackendSummary EngineBackend::summary() const {
  BackendSummary summary;
  if (!has_resolved_auto()) {
    summary.notes.emplace_back("the run ended before the trials of devices were complete");
  }
  return summary;
}

void EngineBackend::close(const std::string& /*error*/) {
  selector_.reset();
  shortlist_.reset();
  setup_ = {};
}

}  // namespace evener
