// Strategies against each other on the user's own data: same order, same start, same budget, the
// learning rate tuned for each over one grid, several seeds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evener/cluster/parameter_server/coordinator.h"
#include "evener/run/session/train.h"
#include "evener/runtime/engine.h"
#include "evener/runtime/virtual_time.h"

namespace evener {

/// One evaluation.
struct CurvePoint {
  double epoch = 0;
  double seconds = 0;  // of training; evaluations are not counted
  double quality = 0;  // the metric of the target
  double train_loss = 0;
  Communication said{};              // so far
  std::optional<double> distance{};  // between replicas, before they are brought together
};

/// A worker at one of about a hundred moments of a run.
struct WorkerPoint {
  double seconds = 0;
  double batch = 0;                  // mean rows of a step since the moment before
  double updates = 0;                // so far
  double compute = 0, transfer = 0;  // shares of the time since the moment before
};

struct ComparedRun {
  std::uint64_t seed = 1;
  std::vector<CurvePoint> curve;
  std::optional<double> seconds_to_target;  // nothing: never got there
  double best_quality = 0, final_quality = 0;
  double seconds = 0, samples_per_second = 0;
  bool diverged = false;
  std::vector<WorkerResult> workers;
  std::vector<std::vector<WorkerPoint>> series;  // of each worker
};

/// Median and extremes over runs; times of runs that never got there count as infinite.
struct Spread {
  double median = 0, low = 0, high = 0;
};

struct ComparedStrategy {
  std::string strategy;  // with its options
  double learning_rate = 0;
  std::string exchanges_are;        // what it calls them (exchanges_name); empty: it has none
  std::map<double, double> tuning;  // learning rate -> best quality, where it was tuned
  std::vector<ComparedRun> runs;    // one a seed

  std::size_t reached() const;
  Spread time_to_target() const;  // infinite where less than half of the runs got there
  Spread best_quality() const;
  Spread final_quality() const;
  Spread samples_per_second() const;
  // At the last evaluation of each run.
  Spread bytes() const;
  Spread exchanges() const;
  std::optional<Spread> distance() const;  // nothing: it has no replicas
};

/// Which strategy to take: the one with the least median time to the target; where none got there
/// in half of its runs, the one with the best median of the final quality.
struct Verdict {
  const ComparedStrategy* best = nullptr;  // nothing: no strategy came to a result
  const ComparedStrategy* next = nullptr;  // nothing: no other came to a result
  bool by_time = true;                     // else by final quality
  /// What decides overlaps between the two, least to most: other seeds may change the order.
  bool too_close = false;
};

struct Comparison {
  std::string data;
  std::string metric;  // "p@1"
  double target = 0;
  bool larger_is_better = true;
  std::vector<std::string> devices;
  bool virtual_time = false;
  std::uint32_t epochs = 0;
  bool interrupted = false;  // these are the runs that were finished
  std::vector<ComparedStrategy> strategies;

  /// The pointers are into `strategies`.
  Verdict verdict() const;
};

struct CompareOptions {
  std::vector<std::string> strategies;  // "auto": as evener train would choose
  std::string metric = "p@1";
  std::optional<double> target;  // nothing: 97 % of what the best strategy gets to
  std::uint32_t seeds = 5;
  /// More than one also brings replicas together so often: strategies that merge then merge more.
  std::uint32_t evaluations_per_epoch = 1;
  std::vector<double> grid;  // factors of the learning rate to tune over; empty: not tuned
  /// Set: these devices are simulated; every run uses its seed for them.
  std::optional<VirtualTimeOptions> virtual_time;
  /// Set: workers train, which join a cluster of their own for every run. The cluster ends when its
  /// last owner does.
  std::function<std::shared_ptr<ClusterCoordinator>()> start_cluster;
  std::vector<std::string> nodes;  // their names in reports
};

/// `train` gives data, network, optimizer, devices and budget. `progress` is called with lines for
/// the user. Where a signal comes before a run is finished, Error.
Comparison compare(const TrainOptions& train, const CompareOptions& options,
                   const RunContext& context,
                   const std::function<void(const std::string&)>& progress);

inline constexpr int kAnyWidth = 1'000'000;
/// A table, or where that is wider than `width` columns a few lines a strategy.
std::string comparison_text(const Comparison& comparison, int width = kAnyWidth);
std::string comparison_json(const Comparison& comparison);
/// One line an evaluation.
std::string comparison_csv(const Comparison& comparison);
/// One page, everything in it: no scripts or styles from elsewhere.
std::string comparison_html(const Comparison& comparison);

}  // namespace evener
