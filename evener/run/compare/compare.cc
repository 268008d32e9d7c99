#include "evener/run/compare/compare.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/run/compare/comparison_runs.h"
#include "evener/run/devices/device_trials.h"
#include "evener/run/options/recipe.h"
#include "evener/run/options/strategy_for.h"
#include "evener/run/session/data.h"

namespace evener {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr const char* kAuto = "auto";
constexpr const char* kUsualReference = "sync";

class Comparer {
 public:
  Comparer(const TrainOptions& train, const CompareOptions& options, const RunContext& context,
           const std::function<void(const std::string&)>& progress)
      : options_(options), context_(context), progress_(progress) {
    const Warn warn = [&](const std::string& text) { progress(text); };
    TrainOptions base = train;
    base.strategy = "auto";  // each run sets its own
    base.output.clear();     // no run directories
    data_ = open_training_data(base, context.cache, warn);
    if (!data_.evaluation) {
      throw UsageError(
          "evener compare needs something to evaluate on: --test or "
          "--validation-share");
    }
    context_.writes_directory = false;
    train_ = with_recipe(base, data_.train, data_.row_count());
    train_.eval_every = 1;
    train_.early_stop = "none";  // every run trains to the end
    train_.average = 0;
    comparison_.data = train.data;
    comparison_.metric = options.metric;
    comparison_.larger_is_better = larger_is_better(options.metric);
    comparison_.virtual_time = options.virtual_time.has_value();
    comparison_.epochs = train_.epochs;
    for (const auto& text : strategies()) {
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
    if (options.equal_seconds && train_.seconds == 0) choose_reference();
    runs_.emplace(options_, context_, train_, data_, progress_);
  }

  Comparison compare() {
    std::vector<std::string> names;
    for (const auto& strategy : comparison_.strategies) names.push_back(strategy.strategy);
    runs_->set_strategies(std::move(names));
    comparison_.devices = runs_->check_first();
    say_what_cannot_differ();
    runs_->find_fastest_device();
    if (!options_.grid.empty()) tune();
    std::vector<PlannedRun> jobs;
    for (std::uint64_t i = 0; i < options_.seeds; ++i) {
      for (std::size_t s = 0; s < comparison_.strategies.size(); ++s) {
        jobs.push_back({s, comparison_.strategies[s].learning_rate, train_.seed + i});
      }
    }
    runs_->announce(jobs.size());
    try {
      // In virtual time, the runs of all seeds side by side. On real devices, all strategies with
      // one seed, then with the next: what an interruption leaves can be compared.
      const std::size_t group = options_.virtual_time ? jobs.size() : comparison_.strategies.size();
      for (std::size_t i = 0; i < jobs.size(); i += group) run(std::span(jobs).subspan(i, group));
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
      for (auto& run : strategy.runs) {
        run.seconds_to_target = time_to(run, comparison_.target);
        run.reached_at_first =
            !run.curve.empty() && !better(comparison_.target, run.curve.front().quality);
      }
    }
    return std::move(comparison_);
  }

 private:
  std::vector<std::string> strategies() const {
    std::vector<std::string> strategies = options_.strategies;
    if (options_.adds_hogbatch && has_cpu_beside_accelerator()) {
      const auto before = std::find(strategies.begin(), strategies.end(), kAuto);
      strategies.insert(before, "adaptive-hogbatch");
    }
    return strategies;
  }

  bool has_cpu_beside_accelerator() const {
    std::vector<bool> in_place;
    if (options_.virtual_time) {
      for (const auto& device : options_.virtual_time->devices) {
        in_place.push_back(device.in_place);
      }
    } else {
      for (const auto& device : open_devices(train_, context_.devices).devices) {
        in_place.push_back(device->in_place_threads() > 0);
      }
    }
    return std::count(in_place.begin(), in_place.end(), true) > 0 &&
           std::count(in_place.begin(), in_place.end(), false) > 0;
  }

  void choose_reference() {
    const auto& all = comparison_.strategies;
    const auto find = [&](const std::string& name) {
      return std::find_if(all.begin(), all.end(),
                          [&](const ComparedStrategy& s) { return s.strategy == name; });
    };
    auto found = find(options_.reference.empty() ? kUsualReference : options_.reference);
    if (found == all.end()) {
      if (!options_.reference.empty()) {
        throw UsageError(fmt::format("--reference {}: is none of the strategies to compare",
                                     options_.reference));
      }
      found = all.begin();
    }
    reference_ = static_cast<std::size_t>(found - all.begin());
    comparison_.reference = found->strategy;
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

  /// Trains every strategy with every factor of the grid and the first seed. The best quality wins;
  /// on ties, the earlier factor.
  void tune() {
    std::vector<PlannedRun> jobs;
    for (const double factor : options_.grid) {
      for (std::size_t s = 0; s < comparison_.strategies.size(); ++s) {
        jobs.push_back({s, train_.learning_rate * factor, train_.seed});
      }
    }
    runs_->announce(jobs.size());
    run(jobs);
    for (std::size_t s = 0; s < comparison_.strategies.size(); ++s) {
      ComparedStrategy& strategy = comparison_.strategies[s];
      const PlannedRun* best = nullptr;
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

  /// The quality between two evaluations is taken as a line.
  std::optional<double> time_to(const ComparedRun& run, double target) const {
    for (std::size_t i = 0; i < run.curve.size(); ++i) {
      const CurvePoint& point = run.curve[i];
      if (better(target, point.quality)) continue;
      if (i == 0) return point.seconds;
      const CurvePoint& before = run.curve[i - 1];
      const double share = (target - before.quality) / (point.quality - before.quality);
      return before.seconds + share * (point.seconds - before.seconds);
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

  /// With a reference, its jobs are first: their time is that of the others.
  void run(std::span<PlannedRun> jobs) {
    std::vector<PlannedRun*> first, others;
    for (PlannedRun& job : jobs) {
      job.seconds = options_.equal_seconds ? train_.seconds : 0;
      (reference_ == job.strategy ? first : others).push_back(&job);
    }
    if (reference_) {
      runs_->run(first);
      note_budgets(first);
      for (PlannedRun* job : others) job->seconds = budget_of(job->seed);
    }
    runs_->run(others);
  }

  /// Those of the runs that tuned it are replaced by those of its final runs.
  void note_budgets(const std::vector<PlannedRun*>& of_reference) {
    std::map<std::uint64_t, Seconds> budgets;
    for (PlannedRun* job : of_reference) {
      job->result.budget = job->result.seconds;
      if (job->result.diverged) continue;  // it ended early
      Seconds& budget = budgets[job->seed];
      budget = std::max(budget, job->result.seconds);
    }
    if (!budgets.empty()) budgets_ = std::move(budgets);
  }

  Seconds budget_of(std::uint64_t seed) const {
    const auto own = budgets_.find(seed);
    if (own != budgets_.end()) return own->second;
    if (!budgets_.empty()) return budgets_.begin()->second;
    throw Error(fmt::format(
        "the reference strategy, {}, diverged, so its time cannot be that of the others: try a "
        "lower --learning-rate, another --reference or --seconds",
        comparison_.reference));
  }

  const CompareOptions& options_;
  RunContext context_;
  const std::function<void(const std::string&)>& progress_;
  TrainOptions train_;  // of every run, without strategy, learning rate and seed
  TrainingData data_;
  Comparison comparison_;
  std::optional<ComparisonRuns> runs_;
  std::optional<std::size_t> reference_;      // index of the strategy
  std::map<std::uint64_t, Seconds> budgets_;  // by seed: the time of the reference
};

}  // namespace

Comparison compare(const TrainOptions& train, const CompareOptions& options,
                   const RunContext& context,
                   const std::function<void(const std::string&)>& progress) {
  return Comparer(train, options, context, progress).compare();
}

}  // namespace evener
