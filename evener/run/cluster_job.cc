#include "evener/run/cluster_job.h"

#include <utility>

#include <xxhash.h>

#include "evener/run/start.h"

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

DataPrint print_of(const TrainingData& data) {
  const Dataset& train = data.train;
  const std::uint64_t all = hash(train.labels, hash(train.features, 0));
  return {data.row_count(), train.feature_count, train.label_count,
          hash(std::span<const std::uint32_t>(data.rows), all)};
}

NodeWork make_node_work(const Job& job, int place, const NodeSurroundings& surroundings,
                        const Warn& warn) {
  TrainOptions options;
  apply_option_texts(job.options, options);
  if (!surroundings.data.empty()) options.data = surroundings.data;
  options.test.clear();  // the coordinator evaluates
  options.cache_dir.clear();
  auto device = open_one_device("--devices", surroundings.device, surroundings.memory_limit,
                                surroundings.devices);
  auto data = std::make_shared<TrainingData>(
      open_training_data(options, surroundings.cache_directory, warn));
  NodeWork work;
  work.network = network_of(options, data->train);
  work.compression = compression_of(parse_strategy(strategy_of(options)));
  work.data = print_of(*data);
  const Training training =
      training_of_worker(training_of(options), static_cast<std::size_t>(place));
  work.most_rows = device->most_rows(work.network, training);
  work.replica = std::make_unique<NodeReplica>(device->make_replica(work.network, training),
                                               work.network, data->train, work.compression);
  struct Kept {
    std::shared_ptr<TrainingData> data;
    std::unique_ptr<Device> device;
  };
  work.owner = std::make_shared<Kept>(Kept{std::move(data), std::move(device)});
  return work;
}

}  // namespace evener
