// A training run from data to a model: the entry point of this folder.
//
//   const auto backend = make_local_backend();            // backends.h
//   const TrainResult result = train(options, *backend, context);
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evener/nn/metrics.h"
#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/devices/devices.h"
#include "evener/run/options/options.h"
#include "evener/run/options/resolve.h"
#include "evener/run/report/reporter.h"
#include "evener/run/report/worker_result.h"
#include "evener/run/session/backend.h"
#include "evener/run/session/data.h"
#include "evener/runtime/step_counter.h"

namespace evener {

/// The context of a run. It does not affect the model: runs with the same options and backends give
/// the same model in any context.
struct RunContext {
  CacheOptions cache;  // its directory is for runs without --cache-dir
  DeviceContext devices;
  ReporterOptions reporter;
  /// Called before the first step: from then on an interrupted run writes a checkpoint.
  std::function<void()> training_begins;
  /// Called after each step. A value other than 0 is a signal number: the run ends with a
  /// checkpoint.
  std::function<int()> interrupted;
  /// Counts the steps on the calling thread, for a caller that ends the process where one hangs;
  /// null: not counted.
  std::shared_ptr<MainSteps> main_steps;
  /// False: the run writes no files and cannot be resumed.
  bool writes_directory = true;
  /// True: the result contains the models.
  bool returns_models = false;
  std::vector<std::string> notes{};  // for the user, at the start of the run
};

struct TrainResult {
  std::string directory;
  std::string ended;  // "epochs", "seconds", "early stop" or "signal"
  int signal = 0;
  bool in_preparation = false;  // the signal came before the first step of this session
  Progress progress;
  double train_loss = 0;            // mean of the last complete epoch of this session
  double samples_per_second = 0;    // of the steps of this session
  double preparation_seconds = 0;   // of this session, before the first step ...
  double step_seconds = 0;          // ... and in steps, without evaluations and checkpoints
  Metrics metrics;                  // of the last evaluation; empty: none
  std::uint64_t metrics_epoch = 0;  // epoch of that evaluation
  bool metrics_are_final = true;    // `metrics` are those of the final model
  std::string best_by;              // metric that selects the best model; empty: no evaluation
  bool virtual_time = false;        // times are those of simulated devices
  std::string strategy;             // with the options that differ from its defaults
  /// Distance between replicas at the end of the last epoch (runtime/replica_distance.h), if each
  /// worker has a replica.
  std::optional<double> replica_distance{};
  std::vector<WorkerResult> workers;
  std::vector<std::string> notes;  // measurements, decisions and lost devices
  bool was_complete = false;       // a finished run was resumed; nothing was trained
  /// With RunContext::returns_models: the model after the last step, and the best by `best_by`.
  std::optional<Model> last_model, best_model;
};

/// Trains to the end or until it is interrupted. With the same data, options, device and number of
/// threads, an interrupted and resumed run gives bitwise the same model.
TrainResult train(const TrainOptions& options, Backend& backend, const RunContext& context);

/// The same on data in memory (training_data_of in data.h); options for data files are not used.
TrainResult train(const TrainOptions& options, const TrainingData& data, Backend& backend,
                  const RunContext& context);

}  // namespace evener
