#include "evener/run/compare/compare.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>

#include <fmt/format.h>

#include "evener/core/cores.h"
#include "evener/core/error.h"
#include "evener/core/team.h"
#include "evener/run/devices/device_trials.h"
#include "evener/run/options/recipe.h"
#include "evener/run/options/strategy_for.h"
#include "evener/run/report/metric_text.h"
#include "evener/run/session/backends.h"
#include "evener/run/session/data.h"
#include "evener/run/session/new_run.h"
#include "evener/run/session/run_session.h"

namespace evener {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr const char* kAuto = "auto";
constexpr std::size_t kMoments = 100;  // points in a worker's series

/// A run to do.
struct Job {
  std::size_t strategy;
  double learning_rate;
  std::uint64_t seed;
  ComparedRun result;
  bool done = false;
};

class Interrupted : public Error {
 public:
  explicit Interrupted(int number) : Error("interrupted"), signal(number) {}
  int signal;
};

class Comparer {
 public:
  Comparer(const TrainOptions& train, const CompareOptions& options, const RunContext& context,
           const std::function<void(const std::string&)>& progress)
      : options_(options), context_(context), progress_(progress) {
    const Warn warn = [&](const std::string& text) { progress(text); };
    TrainOptions base = train;
    base.strategy = "auto";  // each run sets its own
    base.output.clear();     // no run directories
    data_ = open_training_data(base, context.cache_directory, warn);
    if (!data_.evaluation) {
      throw UsageError(
          "evener compare needs something to evaluate on: --test or "
          "--validation-share");
    }
    context_.writes_directory = false;
    train_ = with_recipe(base, data_.train, data_.row_count());
    train_.eval_every = 1;
    train_.early_stop = "none";  // every run trains for all epochs
    train_.average = 0;
    comparison_.data = train.data;
    comparison_.metric = options.metric;
    comparison_.larger_is_better = larger_is_better(options.metric);
    comparison_.virtual_time = options.virtual_time.has_value();
    comparison_.epochs = train_.epochs;
    for (const auto& text : options.strategies) {
      base.strategy = text;
      const bool automatic = text == kAuto && !options.start_cluster;
      const StrategyChoice choice =
          parse_strategy(options.start_cluster ? strategy_for_nodes(base)
                         : automatic           ? automatic_strategy(AutoFor::several_devices)
                                               : text);
      comparison_.strategies.push_back({automatic ? text : choice.text(),
                                        train_.learning_rate,
                                        exchanges_name(choice.strategy->sharing),
                                        {},
                                        {}});
    }
  }

  Comparison compare() {
    check_first();
    say_what_cannot_differ();
    if (!options_.grid.empty()) tune();
    std::vector<Job> jobs;
    for (std::uint64_t i = 0; i < options_.seeds;
         ++i) {  // all strategies with one seed, then with the next
      for (std::size_t s = 0; s < comparison_.strategies.size(); ++s) {
        jobs.push_back({s, comparison_.strategies[s].learning_rate, train_.seed + i, {}, false});
      }
    }
    try {
      run(jobs);
    } catch (const Interrupted&) {
      comparison_.interrupted = true;
    }
    for (auto& job : jobs) {
      if (job.done) comparison_.strategies[job.strategy].runs.push_back(std::move(job.result));
    }
    std::erase_if(comparison_.strategies,
                  [](const auto& strategy) { return strategy.runs.empty(); });
    if (comparison_.strategies.empty()) throw Error("interrupted before a run was finished");
    comparison_.target = options_.target ? *options_.target : default_target();
    for (auto& strategy : comparison_.strategies) {
      for (auto& run : strategy.runs) run.seconds_to_target = time_to(run, comparison_.target);
    }
    return std::move(comparison_);
  }

 private:
  /// Refuses options that do not fit the devices or a strategy, before training.
  void check_first() {
    for (std::size_t s = 0; s < comparison_.strategies.size(); ++s) {
      TrainOptions options = options_of({s, train_.learning_rate, train_.seed, {}, false});
      if (options_.start_cluster) {  // its workers would be started
        check_cluster_options(options, context_.devices);
        continue;
      }
      Reporter quiet({});
      const auto backend = backend_for(train_.seed);
      backend->open(options, nullptr, {context_.devices, [](const std::string&) {}, {}});
      Checkpoint start = new_run(options, data_, quiet);
      backend->check(options, data_, start.model.network);
      backend->start(options, data_, start);
      comparison_.devices = backend->report(0).timeline->names();
      if (const std::string hint = backend->hint(); !hint.empty()) progress_(hint);
      backend->close("");
    }
    if (options_.start_cluster) comparison_.devices = options_.nodes;
  }

  void say_what_cannot_differ() const {
    if (comparison_.devices.size() == 1) {
      progress_(fmt::format("one device ({}): there is nothing to share between devices{}",
                            comparison_.devices.front(),
                            options_.virtual_time ? "" : "; several: --devices cpu:1,cpu:1"));
    }
    if (comparison_.strategies.size() == 1) {
      progress_(fmt::format("one strategy ({}): there is nothing to compare it with",
                            comparison_.strategies.front().strategy));
    }
  }

  std::unique_ptr<Backend> backend_for(std::uint64_t seed) const {
    if (options_.start_cluster) return make_cluster_backend(options_.start_cluster());
    if (!options_.virtual_time) return make_local_backend();
    VirtualTimeOptions time = *options_.virtual_time;
    time.seed = seed;
    return make_virtual_backend(std::move(time));
  }

  TrainOptions options_of(const Job& job) const {
    TrainOptions options = train_;
    options.strategy = comparison_.strategies[job.strategy].strategy;
    options.learning_rate = job.learning_rate;
    options.seed = job.seed;
    return options;
  }

  /// Trains every strategy with every factor of the grid and the first seed. The best quality wins;
  /// on ties, the earlier factor.
  void tune() {
    std::vector<Job> jobs;
    for (const double factor : options_.grid) {
      for (std::size_t s = 0; s < comparison_.strategies.size(); ++s) {
        jobs.push_back({s, train_.learning_rate * factor, train_.seed, {}, false});
      }
    }
    run(jobs);
    for (std::size_t s = 0; s < comparison_.strategies.size(); ++s) {
      ComparedStrategy& strategy = comparison_.strategies[s];
      const Job* best = nullptr;
      for (const auto& job : jobs) {
        if (job.strategy != s) continue;
        strategy.tuning[job.learning_rate] = job.result.best_quality;
        if (best == nullptr || sooner(job.result, best->result)) best = &job;
      }
      strategy.learning_rate = best->learning_rate;
    }
  }

  bool sooner(const ComparedRun& a, const ComparedRun& b) const {
    if (a.diverged != b.diverged) return b.diverged;
    if (options_.target) {
      const double first = time_to(a, *options_.target).value_or(kNever);
      const double second = time_to(b, *options_.target).value_or(kNever);
      if (first != second) return first < second;
    }
    return better(a.best_quality, b.best_quality);
  }

  bool better(double a, double b) const { return comparison_.larger_is_better ? a > b : a < b; }

  std::optional<double> time_to(const ComparedRun& run, double target) const {
    for (const auto& point : run.curve) {
      if (!better(target, point.quality)) return point.seconds;
    }
    return std::nullopt;
  }

  /// Slightly below the quality of the best strategy's median run; runs that learned nothing do not
  /// count.
  double default_target() const {
    double best = comparison_.larger_is_better ? -kNever : kNever;
    for (const auto& strategy : comparison_.strategies) {
      const double median = strategy.best_quality().median;
      if (better(median, best)) best = median;
    }
    return comparison_.larger_is_better ? 0.97 * best : 1.03 * best;
  }

  /// In virtual time, one job per core; on real devices, one job at a time.
  void run(std::vector<Job>& jobs) {
    Team team(options_.virtual_time
                  ? std::min<int>(available_cores(), static_cast<int>(jobs.size()))
                  : 1);
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> done{0};
    std::mutex mutex;
    team.run([&](int) {
      for (std::size_t i = next++; i < jobs.size(); i = next++) {
        run_one(jobs[i]);
        const std::lock_guard lock(mutex);
        const ComparedRun& result = jobs[i].result;
        progress_(fmt::format("{}/{}  {} lr {:g} seed {}: best {} {} in {:.1f} s{}", ++done,
                              jobs.size(), comparison_.strategies[jobs[i].strategy].strategy,
                              jobs[i].learning_rate, jobs[i].seed, metric_title(options_.metric),
                              metric_text(options_.metric, result.best_quality), result.seconds,
                              result.diverged ? " (diverged)" : ""));
      }
    });
  }

  void run_one(Job& job) {
    ComparedRun& run = job.result;
    run.seed = job.seed;
    run.best_quality = comparison_.larger_is_better ? -kNever : kNever;
    SessionOptions session;
    session.driver.evaluations_per_epoch = options_.evaluations_per_epoch;
    session.driver.evaluated = [&](const EvaluationPoint& point) { add_point(run, point); };
    session.driver.ended = [&](const FinishedSession& end) {
      run.seconds = end.seconds;
      const double rows = static_cast<double>(data_.row_count()) * static_cast<double>(end.epochs);
      run.samples_per_second = rows / std::max(end.seconds, 1e-9);
      run.workers = worker_results(*end.timeline, end.seconds - end.trial_seconds);
      run.series = series_of(*end.timeline);
    };
    const auto backend = backend_for(job.seed);
    try {
      const TrainResult result = run_session(options_of(job), &data_, *backend, context_, session);
      if (result.signal != 0) throw Interrupted(result.signal);
    } catch (const DivergedError&) {
      run.diverged = true;
    }
    if (run.curve.empty())
      run.best_quality = run.final_quality = comparison_.larger_is_better ? 0 : kNever;
    job.done = true;
  }

  void add_point(ComparedRun& run, const EvaluationPoint& point) const {
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

  static std::vector<std::vector<WorkerPoint>> series_of(const Timeline& timeline) {
    std::vector<std::vector<WorkerPoint>> series(timeline.names().size());
    double end = 0;
    for (const auto& entry : timeline.entries()) end = std::max(end, entry.end);
    const double length = std::max(end, 1e-9) / kMoments;
    struct Sums {
      double rows = 0, steps = 0, compute = 0, transfer = 0;
    };
    std::vector<std::vector<Sums>> sums(series.size(), std::vector<Sums>(kMoments));
    for (const auto& entry : timeline.entries()) {
      if (entry.worker < 0) continue;
      const auto moment = std::min(kMoments - 1, static_cast<std::size_t>(entry.end / length));
      Sums& at = sums[static_cast<std::size_t>(entry.worker)][moment];
      at.rows += static_cast<double>(entry.rows);
      at.steps += static_cast<double>(entry.steps);
      at.transfer += entry.transfer;
      at.compute += entry.end - entry.begin - entry.transfer;
    }
    for (std::size_t worker = 0; worker < series.size(); ++worker) {
      double updates = 0;
      for (std::size_t moment = 0; moment < kMoments; ++moment) {
        const Sums& at = sums[worker][moment];
        if (at.steps == 0) continue;  // within a long task: counted at the next point
        updates += at.steps;
        series[worker].push_back({static_cast<double>(moment + 1) * length, at.rows / at.steps,
                                  updates, std::min(1.0, at.compute / length),
                                  std::min(1.0, at.transfer / length)});
      }
    }
    return series;
  }

  const CompareOptions& options_;
  RunContext context_;
  const std::function<void(const std::string&)>& progress_;
  TrainOptions train_;  // of every run, without strategy, learning rate and seed
  TrainingData data_;
  Comparison comparison_;
};

}  // namespace

Comparison compare(const TrainOptions& train, const CompareOptions& options,
                   const RunContext& context,
                   const std::function<void(const std::string&)>& progress) {
  return Comparer(train, options, context, progress).compare();
}

}  // namespace evener
