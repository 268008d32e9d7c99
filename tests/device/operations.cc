#include "tests/device/operations.h"

#include <algorithm>

#include "evener/nn/initialise.h"

namespace evener {

std::vector<Operation> operations() {
  std::vector<Operation> table;
  add_steps(table);
  add_copies(table);
  return table;
}

Rig::Rig(const Workload& on, Device& device, Loss loss, Optimizer optimizer, Input input)
    : workload(on) {
  network.features = workload.data->feature_count;
  network.labels = workload.data->label_count;
  network.hidden = workload.hidden;
  network.loss = loss;
  network.input = input;
  layout = layout_of(network);
  values.resize(layout.size);
  initialise(network, 1, values);
  Training training;
  training.optimizer = optimizer;
  replica = device.make_replica(network, training);
  replica->load(0, values);
  for (const std::uint32_t row : batch(0).rows) {
    const auto features = workload.data->features.row(row).indices;
    touched.insert(touched.end(), features.begin(), features.end());
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
}

Batch Rig::batch(std::size_t index) const {
  const std::size_t batches = workload.rows.size() / workload.batch;
  const std::size_t at = index % batches * workload.batch;
  return {workload.data, std::span(workload.rows).subspan(at, workload.batch)};
}

}  // namespace evener
