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
#include "evener/run/devices/device_selector.h"
#include "evener/run/options/recipe.h"
#include "evener/run/session/cluster_job.h"
#include "evener/run/session/data.h"
#include "evener/run/session/evaluate.h"
#include "evener/run/session/fresh.h"
#include "evener/run/session/start.h"

namespace evener {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr const char* kAuto = "auto";
constexpr std::size_t kMoments = 100;  // of a worker's series

/// One run that is to be done.
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
    base.strategy = "sync";  // each run has its own
    data_ = open_training_data(base, context.cache_directory, warn);
    if (!data_.evaluation) {
      throw UsageError(
          "evener compare needs something to evaluate on: --test or "
          "--validation-share");
    }
    train_ = with_recipe(base, data_);
    comparison_.data = train.data;
    comparison_.metric = options.metric;
    comparison_.larger_is_better = larger_is_better(options.metric);
    comparison_.virtual_time = context.virtual_time.has_value();
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
    for (std::uint64_t i = 0; i < options_.seeds; ++i) {  // interleaved: all strategies, then again
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
  /// What fits neither the devices nor the strategy is refused before anything is trained.
  void check_first() {
    for (std::size_t s = 0; s < comparison_.strategies.size(); ++s) {
      TrainOptions options = train_;
      options.strategy = comparison_.strategies[s].strategy;
      if (options.strategy == kAuto)
        options.strategy = automatic_strategy(AutoFor::several_devices);
      EngineSetup setup = setup_for(options, train_.seed);
      const std::string hint = batch_hint(setup, setup.network);
      if (options_.start_cluster) continue;  // its engine would wait for nodes
      comparison_.devices = Engine(std::move(setup)).timeline().names();
      if (!hint.empty()) progress_(hint);
    }
    if (options_.start_cluster) comparison_.devices = options_.nodes;
  }

  void say_what_cannot_differ() const {
    if (comparison_.devices.size() == 1) {
      progress_(fmt::format("one device ({}): there is nothing to share between devices{}",
                            comparison_.devices.front(),
                            context_.virtual_time ? "" : "; several: --devices cpu:1,cpu:1"));
    }
    if (comparison_.strategies.size() == 1) {
      progress_(fmt::format("one strategy ({}): there is nothing to compare it with",
                            comparison_.strategies.front().strategy));
    }
  }

  EngineSetup setup_for(const TrainOptions& options, std::uint64_t seed) const {
    RunDevices devices;
    if (context_.virtual_time) {
      devices.virtual_time = context_.virtual_time;
      devices.virtual_time->seed = seed;
    } else {
      devices = open_devices(options, context_.devices);
    }
    EngineSetup setup = checked(engine_setup(options, std::move(devices)));
    set_training(setup, options, data_, network_of(options, data_.train));
    return setup;
  }

  /// The setup of a run whose nodes are told what to train.
  EngineSetup on_cluster(EngineSetup setup, const TrainOptions& options) {
    setup.remote_workers = options_.start_cluster();
    if (!fingerprint_) fingerprint_ = fingerprint_of(data_);
    std::static_pointer_cast<ClusterCoordinator>(setup.remote_workers)
        ->offer({option_texts(with_absolute_paths(options)), *fingerprint_, batch_of_node(setup)});
    return setup;
  }

  /// Every factor of the grid for every strategy, with the first seed; the best quality decides,
  /// and between equals the earlier.
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

  /// Nearly what the best strategy's median run gets to: one that learned nothing sets no target.
  double default_target() const {
    double best = comparison_.larger_is_better ? -kNever : kNever;
    for (const auto& strategy : comparison_.strategies) {
      const double median = strategy.best_quality().median;
      if (better(median, best)) best = median;
    }
    return comparison_.larger_is_better ? 0.97 * best : 1.03 * best;
  }

  /// In virtual time one job a core; real devices get the machine for themselves.
  void run(std::vector<Job>& jobs) {
    Team team(context_.virtual_time
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
    TrainOptions options = train_;
    options.strategy = comparison_.strategies[job.strategy].strategy;
    options.learning_rate = job.learning_rate;
    options.seed = job.seed;
    const bool automatic = options.strategy == kAuto;
    if (automatic) options.strategy = automatic_strategy(AutoFor::several_devices);
    const Network network = network_of(options, data_.train);
    FloatBuffer parameters = initial_parameters(network, options, data_);
    EngineSetup setup = setup_for(options, job.seed);
    if (options_.start_cluster) setup = on_cluster(std::move(setup), options);
    double seconds = 0, trials = 0;
    DeviceSelector selector(std::move(setup), automatic && comparison_.devices.size() > 1);
    Models& models = selector.engine().models();
    models.give(0, std::move(parameters));
    const int vectors = state_vectors(training_of(options).optimizer);
    for (int v = 1; v <= vectors; ++v) models.give(v, FloatBuffer(layout_of(network).size));
    ComparedRun& run = job.result;
    run.seed = job.seed;
    run.best_quality = comparison_.larger_is_better ? -kNever : kNever;
    Position position;
    try {
      while (position.epoch < options.epochs) {
        const double begin = selector.now();
        const std::size_t stretch = data_.row_count() / options_.evaluations_per_epoch + 1;
        const std::size_t pause_at = position.next_row + stretch;
        const bool whole = selector.run_epoch(position, [&](const StepReport&) {
          if (selector.take_choice()) trials = seconds + selector.now() - begin;
          return interrupted() == 0 && position.next_row < pause_at;
        });
        if (interrupted() != 0) throw Interrupted(interrupted());
        seconds += selector.now() - begin;
        add_point(run, selector, position, seconds);
        if (whole) position = {position.step, position.epoch + 1, 0, 0};
      }
    } catch (const DivergedError&) {
      run.diverged = true;
    }
    run.seconds = seconds;
    const double rows =
        static_cast<double>(data_.row_count()) * static_cast<double>(position.epoch);
    if (run.curve.empty())
      run.best_quality = run.final_quality = comparison_.larger_is_better ? 0 : kNever;
    run.samples_per_second = rows / std::max(seconds, 1e-9);
    run.workers = worker_results(selector.engine().timeline(), seconds - trials);
    run.series = series_of(selector.engine().timeline());
    job.done = true;
  }

  int interrupted() const { return context_.interrupted ? context_.interrupted() : 0; }

  void add_point(ComparedRun& run, DeviceSelector& selector, const Position& position,
                 double seconds) const {
    const auto predictions = selector.engine().evaluate([this](Replica& replica) {
      return predict_all(replica, *data_.evaluation, kEvaluationTop);
    });
    const Metrics metrics = evaluate(*predictions, data_.evaluation->labels,
                                     data_.train.label_count, data_.inverse_propensity);
    const auto found = metrics.find(options_.metric);
    if (found == metrics.end()) {
      throw UsageError("--target " + options_.metric + ": this data has no such metric");
    }
    const double loss = position.loss_sum / static_cast<double>(position.next_row);
    const double epoch =
        static_cast<double>(position.epoch) +
        static_cast<double>(position.next_row) / static_cast<double>(data_.row_count());
    if (!std::isfinite(found->second)) throw DivergedError("the evaluation is not finite");
    run.curve.push_back({epoch, seconds, found->second, loss, selector.communication(),
                         selector.engine().distance()});
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
        if (at.steps == 0) continue;  // within a long task: the next moment tells
        updates += at.steps;
        series[worker].push_back({static_cast<double>(moment + 1) * length, at.rows / at.steps,
                                  updates, std::min(1.0, at.compute / length),
                                  std::min(1.0, at.transfer / length)});
      }
    }
    return series;
  }

  const CompareOptions& options_;
  const RunContext& context_;
  const std::function<void(const std::string&)>& progress_;
  TrainOptions train_;
  TrainingData data_;
  std::optional<DataFingerprint> fingerprint_;  // what nodes know the data by
  Comparison comparison_;
};

}  // namespace

Comparison compare(const TrainOptions& train, const CompareOptions& options,
                   const RunContext& context,
                   const std::function<void(const std::string&)>& progress) {
  return Comparer(train, options, context, progress).compare();
}

}  // namespace evener
