// A training run from data to a model: the public entry of this folder.
//
//   const auto backend = make_local_backend();            // backends.h
//   const TrainResult result = train(options, *backend, context);
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evener/nn/metrics.h"
#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/devices/devices.h"
#include "evener/run/options/options.h"
#include "evener/run/options/resolve.h"
#include "evener/run/report/reporter.h"
#include "evener/run/session/backend.h"
#include "evener/run/session/data.h"
#include "evener/run/session/worker_result.h"

namespace evener {

/// The environment of a run: two runs with the same options and backends in different contexts give
/// the same model.
struct RunContext {
  std::string cache_directory;  // where --cache-dir names none; empty: no cache
  DeviceContext devices;
  ReporterOptions reporter;
  /// Called when the first step is about to be done: from then on an interruption has something to
  /// save.
  std::function<void()> training_begins;
  /// Asked after each step: not 0 is a signal's number, and the run ends with a checkpoint.
  std::function<int()> interrupted;
  /// False: nothing is written, and the run cannot be resumed.
  bool writes_directory = true;
  /// True: the result has the models.
  bool returns_models = false;
};

struct TrainResult {
  std::string directory;
  std::string ended;  // "epochs", "early stop" or "signal"
  int signal = 0;
  Progress progress;
  double train_loss = 0;            // mean of the last complete epoch of this session
  double samples_per_second = 0;    // of this session, evaluations and checkpoints not counted
  Metrics metrics;                  // of the last evaluation; empty without any
  std::uint64_t metrics_epoch = 0;  // after which that was
  bool metrics_are_final = true;    // nothing was trained after it: they are the final model's
  std::string best_by;              // the metric that decides; empty without evaluation
  bool virtual_time = false;        // all seconds are those of simulated devices
  std::string strategy;             // with the options that differ from its defaults
  /// Between replicas at the end of the last epoch (runtime/replica_distance.h), where each worker
  /// has one.
  std::optional<double> replica_distance{};
  std::vector<WorkerResult> workers;
  std::vector<std::string> notes;  // what was measured and decided, devices that were lost
  bool was_complete = false;       // a finished run was resumed: nothing was done
  /// With RunContext::returns_models: after the last step, and by `best_by`.
  std::optional<Model> last_model, best_model;
};

/// Runs to the end or to the next interruption. Bit for bit the same with and without interruptions
/// in between, given the same data, options, device and number of threads.
TrainResult train(const TrainOptions& options, Backend& backend, const RunContext& context);

/// The same on data in memory (training_data_of in data.h); the options of files are not used.
TrainResult train(const TrainOptions& options, const TrainingData& data, Backend& backend,
                  const RunContext& context);

}  // namespace evener
