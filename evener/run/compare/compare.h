// Compares strategies on the user's data: same order of rows, same initial model, same training
// time or number of epochs, several seeds; the learning rate of each strategy may be tuned over one
// grid.
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
  double batch = 0;                  // mean rows of the steps since the previous point; 0: none
  double updates = 0;                // so far
  double compute = 0, transfer = 0;  // shares of the time since the previous point
};

struct ComparedRun {
  std::uint64_t seed = 1;
  std::vector<CurvePoint> curve;
  /// Interpolated between the evaluations around it; nullopt: not reached.
  std::optional<double> seconds_to_target;
  /// The first evaluation reached the target: when that was is not known.
  bool reached_at_first = false;
  double best_quality = 0, final_quality = 0;
  double seconds = 0, samples_per_second = 0;
  double epochs = 0;         // trained
  Seconds budget = 0;        // of training; 0: it trained for the epochs
  double trial_seconds = 0;  // part of `seconds` in trials of devices (auto)
  bool diverged = false;
  std::vector<std::string> notes{};  // of auto and of lost devices
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
  MedianRange epochs() const;
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
  bool one_seed = false;  // nothing is known of other seeds
};

struct Comparison {
  std::string data;
  std::string metric;  // "p@1"
  double target = 0;
  bool larger_is_better = true;
  std::vector<std::string> devices;
  bool virtual_time = false;
  std::uint32_t epochs = 0;
  /// Every run had the time that this strategy needed for the epochs; empty: no reference.
  std::string reference{};
  bool interrupted = false;  // only the finished runs are included
  std::vector<ComparedStrategy> strategies;

  /// Of all runs; 0: they trained for the epochs.
  MedianRange budget() const;
  /// The pointers refer to elements of `strategies`.
  Verdict verdict() const;
};

struct CompareOptions {
  /// "auto": the choice of evener train. "sequential" trains on the fastest device.
  std::vector<std::string> strategies;
  /// Adds adaptive-hogbatch to the strategies if a CPU trains beside an accelerator.
  bool adds_hogbatch = false;
  /// Every run gets the time that the reference needs for the epochs, or TrainOptions::seconds if
  /// that is not 0. Else every run trains for the epochs.
  bool equal_seconds = true;
  std::string reference;  // one of the strategies; empty: sync, else the first
  std::string metric = "p@1";
  std::optional<double> target;  // nullopt: 97 % of the best strategy's result
  std::uint32_t seeds = 5;
  /// Every evaluation merges replicas. With equal seconds, every run has as many evaluations as the
  /// reference, evenly over the time.
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
