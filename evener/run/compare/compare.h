// Compares strategies on the user's data: same order of rows, same initial model, same budget,
// several seeds; the learning rate of each strategy may be tuned over one grid.
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
  double seconds = 0;  // of training, without evaluations
  double quality = 0;  // value of the target's metric
  double train_loss = 0;
  Communication communication{};     // so far
  std::optional<double> distance{};  // between replicas, before they are merged
};

/// The state of a worker at one of about a hundred sampling points of a run.
struct WorkerPoint {
  double seconds = 0;
  double batch = 0;                  // mean rows of a step since the previous point
  double updates = 0;                // so far
  double compute = 0, transfer = 0;  // shares of the time since the previous point
};

struct ComparedRun {
  std::uint64_t seed = 1;
  std::vector<CurvePoint> curve;
  std::optional<double> seconds_to_target;  // nullopt: not reached
  double best_quality = 0, final_quality = 0;
  double seconds = 0, samples_per_second = 0;
  bool diverged = false;
  std::vector<WorkerResult> workers;
  std::vector<std::vector<WorkerPoint>> series;  // of each worker
};

/// Median and extremes over runs; runs that never reach the target have infinite time.
struct MedianRange {
  double median = 0, low = 0, high = 0;
};

struct ComparedStrategy {
  std::string strategy;  // with its options
  double learning_rate = 0;
  std::string exchanges_are;        // the strategy's name for them (exchanges_name); empty: none
  std::map<double, double> tuning;  // learning rate -> best quality; empty if not tuned
  std::vector<ComparedRun> runs;    // one per seed

  std::size_t reached() const;
  MedianRange time_to_target() const;  // infinite if fewer than half of the runs reach it
  MedianRange best_quality() const;
  MedianRange final_quality() const;
  MedianRange samples_per_second() const;
  // At the last evaluation of each run.
  MedianRange bytes() const;
  MedianRange exchanges() const;
  std::optional<MedianRange> distance() const;  // nullopt: it has no replicas
};

/// The recommended strategy: the one with the shortest median time to the target. If no strategy
/// reaches the target in half of its runs, the one with the best median final quality.
struct Verdict {
  const ComparedStrategy* best = nullptr;  // null: no strategy has a result
  const ComparedStrategy* next = nullptr;  // null: no other strategy has a result
  bool by_time = true;                     // else by final quality
  /// The ranges (least to most) of the two overlap: other seeds may change the order.
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
  bool interrupted = false;  // only the finished runs are included
  std::vector<ComparedStrategy> strategies;

  /// The pointers refer to elements of `strategies`.
  Verdict verdict() const;
};

struct CompareOptions {
  std::vector<std::string> strategies;  // "auto": the choice of evener train
  std::string metric = "p@1";
  std::optional<double> target;  // nullopt: 97 % of the best strategy's result
  std::uint32_t seeds = 5;
  /// Every evaluation merges replicas, so with more than one, merging strategies merge more often.
  std::uint32_t evaluations_per_epoch = 1;
  std::vector<double> grid;  // factors of the learning rate to tune over; empty: not tuned
  /// If set, these devices are simulated, with the seed of each run.
  std::optional<VirtualTimeOptions> virtual_time;
  /// If set, starts a cluster for each run, whose workers train. The cluster ends with the last
  /// reference to it.
  std::function<std::shared_ptr<ClusterCoordinator>()> start_cluster;
  std::vector<std::string> nodes;  // their names in reports
};

/// `train` gives data, network, optimizer, devices and budget. Calls `progress` with lines for the
/// user. Throws Error if a signal arrives before the first run is finished.
Comparison compare(const TrainOptions& train, const CompareOptions& options,
                   const RunContext& context,
                   const std::function<void(const std::string&)>& progress);

inline constexpr int kAnyWidth = 1'000'000;
/// A table, or a few lines per strategy if the table is wider than `width` columns.
std::string comparison_text(const Comparison& comparison, int width = kAnyWidth);
std::string comparison_json(const Comparison& comparison);
/// One line per evaluation.
std::string comparison_csv(const Comparison& comparison);
/// One self-contained page: no external scripts or styles.
std::string comparison_html(const Comparison& comparison);

}  // namespace evener
