#include "evener/run/session/new_run.h"

#include <algorithm>
#include <ctime>
#include <filesystem>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/data/names.h"
#include "evener/nn/initialise.h"
#include "evener/run/artifacts/run_directory.h"
#include "evener/run/artifacts/run_info.h"

namespace evener {

namespace {

namespace fs = std::filesystem;

// Above this share of non-zeros, a dense first layer is faster.
constexpr double kDenseShare = 0.25;

EpochPlan plan_of(const TrainOptions& options, const TrainingData& data) {
  EpochPlan plan;
  plan.data = &data.train;
  plan.rows = data.rows;
  plan.balance = balance_of(options);
  plan.schedule = schedule_of(options);
  plan.rates = rate_rule_of(options);
  plan.seed = options.seed;
  plan.seconds = options.seconds;
  plan.measures_distance = true;
  return plan;
}

}  // namespace

Network network_of(const TrainOptions& options, const Dataset& data) {
  Network network;
  network.features = data.feature_count;
  network.hidden = options.hidden;
  network.labels = data.label_count;
  network.activation = parse_activation(options.activation);
  network.loss = parse_loss(options.loss);
  if (options.has_shortlist()) network.output = Output::listed;
  const double share = static_cast<double>(data.features.nonzeros()) /
                       (static_cast<double>(data.rows()) * data.feature_count);
  if (options.input != "auto") {
    network.input = parse_input(options.input);
  } else {
    network.input = share > kDenseShare ? Input::dense : Input::sparse;
  }
  return network;
}

FloatBuffer initial_parameters(const Network& network, const TrainOptions& options,
                               const TrainingData& data) {
  FloatBuffer parameters(layout_of(network).size);
  initialise(network, options.seed, parameters.span());
  if (options.prior_bias) {
    start_from_frequencies(network, data.train.labels, data.rows, parameters.span());
  }
  return parameters;
}

EngineSetup engine_setup(const TrainOptions& options, RunDevices devices) {
  EngineSetup setup;
  setup.strategy = parse_strategy(strategy_of(options));
  setup.batch = options.global_batch_size;
  setup.batch_per_device = options.batch_size_per_device;
  for (auto& device : devices.devices) setup.devices.push_back(std::move(device));
  setup.speeds = std::move(devices.speeds);
  setup.virtual_time = std::move(devices.virtual_time);
  return setup;
}

void set_training(EngineSetup& setup, const TrainOptions& options, const TrainingData& data,
                  const Network& network) {
  setup.network = network;
  setup.training = training_of(options);
  setup.plan = plan_of(options, data);
}

std::string batch_hint(const EngineSetup& setup, const Network& network) {
  const auto has = [&](bool in_place) {
    return std::any_of(setup.devices.begin(), setup.devices.end(), [&](const auto& device) {
      return (device->in_place_threads() > 0) == in_place;
    });
  };
  return setup.strategy.hint({.parameters = layout_of(network).parameters(),
                              .has_in_place = has(true),
                              .has_accelerators = has(false)});
}

Checkpoint new_run(const TrainOptions& options, const TrainingData& data, Reporter& reporter) {
  Checkpoint start;
  Model& model = start.model;
  model.network = network_of(options, data.train);
  model.raw_features = data.raw_features;
  model.text_format = data.text_format;
  model.transform = data.transform;
  model.label_names = data.train.label_names;
  if (model.label_names.empty() && !options.data.empty()) {
    std::string warning;
    model.label_names =
        find_names(label_names_path(options.data), data.train.label_count, &warning);
    if (!warning.empty()) reporter.warn(warning);
  }
  model.inverse_propensity = data.inverse_propensity;
  model.parameters = initial_parameters(model.network, options, data);
  const std::size_t size = model.parameters.size();
  const int vectors = state_vectors(parse_optimizer(options.optimizer));
  for (int i = 0; i < vectors; ++i) start.state.emplace_back(size);
  return start;
}

TrainOptions with_absolute_paths(TrainOptions options) {
  for (std::string* path : {&options.data, &options.test, &options.cache_dir}) {
    if (!path->empty()) *path = fs::absolute(*path).lexically_normal().string();
  }
  return options;
}

std::string default_directory(const std::string& data) {
  const fs::path path = fs::absolute(data).lexically_normal();
  std::string name = path.filename().string();
  name = name.substr(0, name.find('.'));
  if ((name.empty() || name == "train") && path.has_parent_path()) {
    name = path.parent_path().filename().string();
  }
  return default_run_directory(name, std::time(nullptr));
}

void refuse_existing_run(const std::string& path) {
  if (!fs::exists(path + "/config.toml") || never_trained(path)) return;
  const RunDirectory own(path,
                         RunDirectory::Open::resume);  // Error if a process is training into it
  const fs::path checkpoints = path + "/checkpoints";
  const bool resumable = fs::is_directory(checkpoints) && !fs::is_empty(checkpoints);
  throw UsageError(path + (resumable
                               ? ": holds a run already; go on with it by --resume " + path +
                                     ", or choose another directory"
                               : ": holds a run that ended before its first checkpoint; remove "
                                 "it, or choose another directory"));
}

}  // namespace evener
