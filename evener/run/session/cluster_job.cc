#include "evener/run/session/cluster_job.h"

#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/data/data_folder.h"
#include "evener/run/options/strategy_for.h"
#include "evener/run/session/new_run.h"
#include "evener/runtime/engine_replica.h"

namespace evener {

namespace {

template <class T>
std::uint64_t hash(std::span<const T> values, std::uint64_t seed) {
  return XXH3_64bits_withSeed(values.data(), values.size_bytes(), seed);
}

std::uint64_t hash(const CsrView& rows, std::uint64_t seed) {
  return hash(rows.values, hash(rows.indices, hash(rows.offsets, seed)));
}

}  // namespace

DataFingerprint fingerprint_of(const TrainingData& data) {
  const Dataset& train = data.train;
  const std::uint64_t all = hash(train.labels, hash(train.features, 0));
  return {data.row_count(), train.feature_count, train.label_count,
          hash(std::span<const std::uint32_t>(data.rows), all)};
}

std::size_t batch_of_node(const EngineSetup& setup) {
  PolicyConfig config;
  config.workers = static_cast<int>(setup.remote_workers->slots().size());
  config.batch = setup.batch;
  config.batch_per_device = setup.batch_per_device;
  return config.shared_batch();
}

namespace {

bool has_one(const NodeContext& context) {
  return context.devices.find(',') == std::string::npos;
}

/// The training data of this machine: `own` (--data), or the path on the coordinator's machine.
std::string data_of_node(const std::string& path, const std::string& own) {
  if (own.empty() && is_missing(path)) {
    throw UsageError(path +
                     ": is where the coordinator has the data, and not here: name a copy with "
                     "--data");
  }
  std::string file = data_file(own.empty() ? path : own, "train");
  if (file.empty()) throw UsageError(own + ": is a folder without a train.* file");
  return file;
}

}  // namespace

NodeDevices open_node(const NodeContext& context, std::size_t batch, const Network& network,
                      const Training& training, const Dataset& data) {
  NodeDevices made;
  if (has_one(context)) {
    made.one = open_one_device("--devices", context.devices, context.memory_limit, context.opening);
    made.replica = made.one->make_replica(network, training);
    made.most_rows = made.one->most_rows(network, training);
    made.names = made.one->name();
    return made;
  }
  TrainOptions options;
  options.devices = context.devices;
  options.memory_limit = context.memory_limit;
  options.strategy = context.strategy.empty() ? "auto" : context.strategy;
  options.global_batch_size = static_cast<std::uint32_t>(batch);
  RunDevices devices = open_devices(options, context.opening);
  options.strategy = strategy_for_devices(options, devices.count());
  EngineSetup setup = engine_setup(options, std::move(devices));
  setup.network = network;
  setup.training = training;
  setup.plan.data = &data;
  setup.plan.seed = training.seed;
  made.names = fmt::format("{} by {}", context.devices, setup.strategy.text());
  made.replica = make_engine_replica(std::move(setup));
  return made;
}

void check_devices(const NodeContext& context) {
  TrainOptions options;
  options.devices = context.devices;
  options.memory_limit = context.memory_limit;
  if (!context.strategy.empty()) {
    if (has_one(context)) {
      throw UsageError(context.strategy_option + " is for several --devices");
    }
    check_inside_node(*parse_strategy(context.strategy).strategy);
  }
  open_devices(options, context.opening);
}

NodeWork make_node_work(const Job& job, int place, const NodeContext& context, const Warn& warn) {
  TrainOptions options;
  apply_option_texts(job.options, options);
  options.data = data_of_node(options.data, context.data);
  options.test.clear();  // the coordinator evaluates
  options.cache_dir.clear();
  auto data = std::make_shared<TrainingData>(open_training_data(options, context.cache, warn));
  NodeWork work;
  work.network = network_of(options, data->train);
  work.compression = parse_strategy(strategy_of(options)).compression();
  work.data = fingerprint_of(*data);
  const Training training =
      training_of_worker(training_of(options), static_cast<std::size_t>(place));
  NodeDevices devices = open_node(context, job.batch, work.network, training, data->train);
  work.most_rows = devices.most_rows;
  work.replica = std::make_unique<NodeReplica>(std::move(devices.replica), work.network,
                                               data->train, work.compression);
  struct Kept {
    std::shared_ptr<TrainingData> data;
    std::unique_ptr<Device> device;
  };
  work.owner = std::make_shared<Kept>(Kept{std::move(data), std::move(devices.one)});
  return work;
}

}  // namespace evener
