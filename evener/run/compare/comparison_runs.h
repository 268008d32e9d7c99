// The runs of a comparison: each is a session of training without a run directory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evener/core/error.h"
#include "evener/run/compare/compare.h"
#include "evener/run/session/backend.h"
#include "evener/run/session/data.h"
#include "evener/run/session/driver.h"

namespace evener {

/// A run to do.
struct PlannedRun {
  std::size_t strategy = 0;  // index
  double learning_rate = 0;
  std::uint64_t seed = 1;
  Seconds seconds = 0;  // 0: it trains for the epochs
  ComparedRun result{};
  bool done = false;
};

class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted") {}
};

class ComparisonRuns {
 public:
  /// `train`: the options of all runs; `strategies`: those of the jobs. The context is the caller's
  /// and must outlive this object, as the data and the options do.
  ComparisonRuns(const CompareOptions& options, const RunContext& context, TrainOptions train,
                 const TrainingData& data, const std::function<void(const std::string&)>& progress)
      : options_(options),
        context_(context),
        train_(std::move(train)),
        data_(data),
        progress_(progress) {}

  /// By index.
  void set_strategies(std::vector<std::string> strategies) { strategies_ = std::move(strategies); }

  /// Refuses options that do not fit the devices or a strategy, before training. Returns the names
  /// of the devices.
  std::vector<std::string> check_first();
  /// Measures the devices by an epoch of sync if a strategy trains on one of several.
  void find_fastest_device();

  /// Before `run`: how many runs follow, for the user.
  void announce(std::size_t runs) {
    total_ = runs;
    done_ = 0;
  }
  /// In virtual time, one job per core; on real devices, one job at a time. Interrupted on a
  /// signal.
  void run(const std::vector<PlannedRun*>& jobs);

 private:
  /// It trains on one device: of several, on the fastest.
  bool trains_alone(std::size_t strategy) const {
    return strategies_[strategy] == "sequential" && !options_.start_cluster;
  }
  std::unique_ptr<Backend> backend_for(std::size_t strategy, std::uint64_t seed) const;
  TrainOptions options_of(const PlannedRun& job) const;
  void run_one(PlannedRun& job) const;
  void add_point(ComparedRun& run, const EvaluationPoint& point) const;
  bool better(double a, double b) const {
    return larger_is_better(options_.metric) ? a > b : a < b;
  }

  const CompareOptions& options_;
  const RunContext& context_;
  TrainOptions train_;  // without strategy, learning rate and seed
  const TrainingData& data_;
  const std::function<void(const std::string&)>& progress_;
  std::vector<std::string> strategies_;
  std::vector<std::string> devices_;    // their names
  std::optional<std::size_t> fastest_;  // index of the device that trains alone
  std::size_t total_ = 0, done_ = 0;
};

}  // namespace evener
