// A small network with its initial parameters, and an engine's set-up that trains it.
#pragma once

#include <string>

#include "evener/nn/initialise.h"
#include "evener/runtime/engine.h"

namespace evener {

inline Network small_network(const Dataset& data) {
  Network network;
  network.features = data.feature_count;
  network.labels = data.label_count;
  network.hidden = {8};
  return network;
}

inline FloatBuffer start_of(const Network& network) {
  FloatBuffer start(layout_of(network).size);
  initialise(network, 5, start.span());
  return start;
}

/// Plain SGD by this strategy, without devices.
inline EngineSetup small_setup(const Dataset& data, const std::string& strategy,
                               std::size_t batch) {
  EngineSetup setup;
  setup.network = small_network(data);
  setup.training.optimizer = Optimizer::sgd;
  setup.plan.data = &data;
  setup.plan.schedule.learning_rate = 0.3F;
  setup.strategy = parse_strategy(strategy);
  setup.batch = batch;
  return setup;
}

}  // namespace evener
