#include "evener/run/compare/comparison_runs.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>

#include <fmt/format.h>

#include "evener/core/cores.h"
#include "evener/core/team.h"
#include "evener/run/compare/worker_series.h"
#include "evener/run/report/metric_text.h"
#include "evener/run/session/backends.h"
#include "evener/run/session/new_run.h"
#include "evener/run/session/run_session.h"

namespace evener {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kEvaluationsByTime = 20;  // of a run without a reference
constexpr const char* kProbe = "sync";     // measures the devices for `sequential`

/// The device's name without what timelines add to it.
std::string plain_name(const std::string& name) {
  return name.substr(0, name.find(" (emulated"));
}

}  // namespace

std::vector<std::string> ComparisonRuns::check_first() {
  for (std::size_t s = 0; s < strategies_.size(); ++s) {
    TrainOptions options = options_of({.strategy = s, .learning_rate = train_.learning_rate});
    if (options_.start_cluster) {  // its workers would be started
      check_cluster_options(options, context_.devices);
      continue;
    }
    if (trains_alone(s)) options.strategy = kProbe;
    Reporter quiet({});
    const auto backend = backend_for(s, train_.seed);
    backend->open(options, nullptr, {context_.devices, [](const std::string&) {}, {}});
    Checkpoint start = new_run(options, data_, quiet);
    backend->check(options, data_, start.model.network);
    backend->start(options, data_, start);
    const auto& names = backend->report(0).timeline->names();
    if (names.size() > devices_.size()) devices_ = names;
    if (const std::string hint = backend->hint(); !hint.empty()) progress_(hint);
    backend->close("");
  }
  if (options_.start_cluster) devices_ = options_.nodes;
  return devices_;
}

void ComparisonRuns::find_fastest_device() {
  std::size_t alone = 0;
  while (alone < strategies_.size() && !trains_alone(alone)) ++alone;
  if (alone == strategies_.size() || devices_.size() == 1) return;
  TrainOptions options = options_of({.strategy = alone, .learning_rate = train_.learning_rate});
  options.strategy = kProbe;
  options.epochs = 1;
  std::vector<WorkerResult> workers;
  SessionOptions session;
  session.driver.ended = [&](const FinishedSession& end) {
    workers = worker_results(*end.timeline, end.seconds);
  };
  const auto backend = backend_for(alone, train_.seed);
  if (run_session(options, &data_, *backend, context_, session).signal != 0) throw Interrupted();
  const auto rate = [](const WorkerResult& worker) {
    const double busy = worker.compute + worker.transfer;
    return busy > 0 ? static_cast<double>(worker.rows) / busy : 0;
  };
  const auto fastest = std::max_element(
      workers.begin(), workers.end(),
      [&](const WorkerResult& a, const WorkerResult& b) { return rate(a) < rate(b); });
  fastest_ = static_cast<std::size_t>(fastest - workers.begin());
  progress_(fmt::format("sequential trains on device {}, {}: the fastest in an epoch of {}",
                        *fastest_, fastest->name, kProbe));
}

std::unique_ptr<Backend> ComparisonRuns::backend_for(std::size_t strategy,
                                                     std::uint64_t seed) const {
  if (options_.start_cluster) return make_cluster_backend(options_.start_cluster());
  if (!options_.virtual_time) return make_local_backend();
  VirtualTimeOptions time = *options_.virtual_time;
  if (trains_alone(strategy) && fastest_) time.devices = {time.devices[*fastest_]};
  time.seed = seed;
  return make_virtual_backend(std::move(time));
}

TrainOptions ComparisonRuns::options_of(const PlannedRun& job) const {
  TrainOptions options = train_;
  options.strategy = strategies_[job.strategy];
  options.learning_rate = job.learning_rate;
  options.seed = job.seed;
  // With a reference, the schedule spreads its epochs over this time.
  options.seconds = job.seconds;
  if (trains_alone(job.strategy) && fastest_ && !options_.virtual_time) {
    std::vector<std::string> names;
    for (const auto& name : devices_) names.push_back(plain_name(name));
    keep_devices(options, names, {*fastest_});
  }
  return options;
}

void ComparisonRuns::run(const std::vector<PlannedRun*>& jobs) {
  if (jobs.empty()) return;
  Team team(options_.virtual_time ? std::min<int>(available_cores(), static_cast<int>(jobs.size()))
                                  : 1);
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  team.run([&](int) {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      PlannedRun& job = *jobs[i];
      run_one(job);
      const std::lock_guard lock(mutex);
      const ComparedRun& result = job.result;
      progress_(fmt::format("{}/{}  {} lr {:g} seed {}: best {} {} in {:.1f} s{}", ++done_, total_,
                            strategies_[job.strategy], job.learning_rate, job.seed,
                            metric_title(options_.metric),
                            metric_text(options_.metric, result.best_quality), result.seconds,
                            result.diverged ? " (diverged)" : ""));
    }
  });
}

void ComparisonRuns::run_one(PlannedRun& job) const {
  ComparedRun& run = job.result;
  run.seed = job.seed;
  run.budget = job.seconds;
  run.best_quality = larger_is_better(options_.metric) ? -kInfinite : kInfinite;
  SessionOptions session;
  session.driver.evaluations_per_epoch = options_.evaluations_per_epoch;
  const double evaluations =
      train_.seconds > 0 ? kEvaluationsByTime : static_cast<double>(train_.epochs);
  session.driver.evaluation_interval = job.seconds / (evaluations * options_.evaluations_per_epoch);
  session.driver.evaluated = [&](const EvaluationPoint& point) { add_point(run, point); };
  session.driver.ended = [&](const FinishedSession& end) {
    run.seconds = end.seconds;
    run.trial_seconds = end.trial_seconds;
    run.epochs = end.epochs;
    const double rows = static_cast<double>(data_.row_count()) * end.epochs;
    run.samples_per_second = rows / std::max(end.seconds, 1e-9);
    run.workers = worker_results(*end.timeline, end.seconds - end.trial_seconds);
    run.series = worker_series(*end.timeline);
  };
  const auto backend = backend_for(job.strategy, job.seed);
  try {
    const TrainResult result = run_session(options_of(job), &data_, *backend, context_, session);
    if (result.signal != 0) throw Interrupted();
    run.notes = result.notes;
  } catch (const DivergedError&) {
    run.diverged = true;
  }
  if (run.curve.empty()) {
    run.best_quality = run.final_quality = larger_is_better(options_.metric) ? 0 : kInfinite;
  }
  job.done = true;
}

void ComparisonRuns::add_point(ComparedRun& run, const EvaluationPoint& point) const {
  const auto found = point.metrics->find(options_.metric);
  if (found == point.metrics->end()) {
    throw UsageError("--target " + options_.metric + ": this data has no such metric");
  }
  if (!std::isfinite(found->second)) throw DivergedError("the evaluation is not finite");
  run.curve.push_back({point.epoch, point.seconds, found->second, point.train_loss,
                       point.communication, point.replica_distance});
  run.final_quality = found->second;
  if (better(found->second, run.best_quality)) run.best_quality = found->second;
}

}  // namespace evener
