#include "evener/run/session/start.h"

#include <algorithm>

#include "evener/nn/initialise.h"

namespace evener {

namespace {

// Above this share of non-zeros the dense first layer is the faster one.
constexpr double kDenseShare = 0.25;

EpochPlan plan_of(const TrainOptions& options, const TrainingData& data) {
  EpochPlan plan;
  plan.data = &data.train;
  plan.rows = data.rows;
  plan.balance = balance_of(options);
  plan.schedule = schedule_of(options);
  plan.seed = options.seed;
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

}  // namespace evener
