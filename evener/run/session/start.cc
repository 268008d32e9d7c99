#include "evener/run/session/start.h"

#include <algorithm>

#include <fmt/format.h>

#include "evener/nn/initialise.h"

namespace evener {

namespace {

// Above this share of non-zeros the dense first layer is the faster one.
constexpr double kDenseShare = 0.25;
// From here on a step reads and writes so much of the model that one row does not pay for it.
constexpr std::size_t kLargeModel = 100'000;

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
  const auto& values = setup.strategy.values;
  const auto one_row = [&](const char* option) {
    return values.texts().count(option) > 0 && values.number(option) == 1;
  };
  // Only these keep to their batch size; the adaptive one finds its own.
  const std::string& name = setup.strategy.strategy->name;
  if (name != "hogwild" && name != "hogbatch") return "";
  const auto has = [&](bool in_place) {
    return std::any_of(setup.devices.begin(), setup.devices.end(), [&](const auto& device) {
      return (device->in_place_threads() > 0) == in_place;
    });
  };
  const std::size_t parameters = layout_of(network).parameters();
  if (one_row("cpu-batch") && has(true) && parameters >= kLargeModel) {
    return fmt::format(
        "hint: CPU threads step on one row at a time, which is slow on {} parameters; faster: "
        "{}:cpu-batch=32, perhaps with a larger --learning-rate",
        parameters, name);
  }
  if (one_row("accelerator-batch") && has(false)) {
    return fmt::format(
        "hint: accelerators copy the model for every single row; faster: "
        "{}:accelerator-batch=1024",
        name);
  }
  return "";
}

}  // namespace evener
