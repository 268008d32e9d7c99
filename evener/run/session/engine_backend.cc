#include "evener/run/session/engine_backend.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/run/session/new_run.h"

namespace evener {

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
  set_training(setup_, options, data, network);
  setup_ = checked(std::move(setup_));
  device_names_.clear();
  for (const auto& device : setup_.devices) device_names_.push_back(device->name());
}

void EngineBackend::start(const TrainOptions& options, const TrainingData& data,
                          Checkpoint& start) {
  const Network& network = start.model.network;
  const Progress& progress = start.progress;
  position_ = {progress.step, progress.epoch, progress.next_row, progress.train_loss_sum,
               progress.training_seconds};
  optimizer_vectors_ = static_cast<std::size_t>(state_vectors(training_of(options).optimizer));
  set_training(setup_, options, data, network);
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
  return fmt::format("{} on {}{}", engine().is_virtual() ? "simulating training" : "training",
                     engine().device_names(),
                     !has_resolved_auto()                            ? ", whichever are worth it"
                     : strategy.strategy->sharing == Sharing::single ? ""
                                                                     : " by " + strategy.text());
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
  news.notes = selector_->take_notes();
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
  report.workers = worker_results(engine().timeline(), seconds);
  report.communication = selector_->communication();
  report.exchanges_name = exchanges_name(engine().strategy().strategy->sharing);
  report.replica_distance = engine().distance();
  return report;
}

void EngineBackend::evaluate(const std::function<void(Replica&)>& use) {
  engine().evaluate([&](Replica& replica) { use(replica); });
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
  setup_ = {};
}

}  // namespace evener
