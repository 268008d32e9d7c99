// One step of training, as the formulas of training.h state it.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "evener/nn/reference.h"

namespace evener::reference {

namespace {

/// Elements that are clipped together.
struct Row {
  std::size_t weights;  // offset of the weights
  std::size_t weight_count;
  std::size_t biases;  // offset of the biases
  std::size_t bias_count;
};

/// Which features occur in the batch, whether or not dropout hides them in this step.
std::vector<bool> occurring(const Network& network, const Batch& batch) {
  std::vector<bool> result(network.features);
  for (const auto row : batch.rows) {
    for (const auto feature : batch.data->features.row(row).indices) result[feature] = true;
  }
  return result;
}

/// Which labels are candidates of a row of the batch.
std::vector<bool> listed(const Network& network, const Batch& batch) {
  std::vector<bool> result(network.labels);
  for (const auto row : batch.rows) {
    for (const auto label : batch.data->candidates.row(row).indices) result[label] = true;
  }
  return result;
}

std::vector<Row> listed_rows(const Network& network, const Batch& batch) {
  std::vector<Row> rows;
  const Layout layout = layout_of(network);
  const auto add = [&](const Segment& weight, const std::vector<bool>& changes) {
    for (std::size_t r = 0; r < weight.rows; ++r) {
      if (changes[r]) rows.push_back({weight.offset + r * weight.stride, weight.cols, 0, 0});
    }
  };
  add(layout.layers[0].weight, occurring(network, batch));
  rows.push_back({0, 0, layout.layers[0].bias.offset, layout.layers[0].bias.cols});
  add(layout.layers[1].weight, listed(network, batch));
  return rows;
}

std::vector<Row> rows_to_update(const Network& network, const Batch& batch) {
  if (network.listed_output()) return listed_rows(network, batch);
  std::vector<Row> rows;
  const Layout layout = layout_of(network);
  for (std::size_t i = 0; i < layout.layers.size(); ++i) {
    const auto& [weight, bias] = layout.layers[i];
    const bool lazy = i == 0 && network.sparse_input();
    const auto occurs = lazy ? occurring(network, batch) : std::vector<bool>(weight.rows, true);
    for (std::size_t r = 0; r < weight.rows; ++r) {
      if (!occurs[r]) continue;
      rows.push_back({weight.offset + r * weight.stride, weight.cols, bias.offset + (lazy ? 0 : r),
                      lazy ? 0U : 1U});
    }
    if (lazy) rows.push_back({0, 0, bias.offset, bias.cols});
  }
  return rows;
}

class Updater {
 public:
  Updater(const Training& training, const Step& step, std::span<float> parameters,
          std::span<std::vector<float>> state)
      : training_(training), step_(step), parameters_(parameters), state_(state) {}

  void update(const Row& row, std::span<const float> gradient) {
    const double factor = clip_factor(row, gradient);
    for (std::size_t i = row.weights; i < row.weights + row.weight_count; ++i) {
      const double decay = double{training_.l2} * parameters_[i];
      update_element(i, factor * gradient[i] + decay);
    }
    for (std::size_t i = row.biases; i < row.biases + row.bias_count; ++i) {
      update_element(i, factor * gradient[i]);
    }
  }

 private:
  double clip_factor(const Row& row, std::span<const float> gradient) const {
    if (training_.clip <= 0) return 1;
    double squares = 0;
    for (const double g : gradient.subspan(row.weights, row.weight_count)) squares += g * g;
    for (const double g : gradient.subspan(row.biases, row.bias_count)) squares += g * g;
    const double length = std::sqrt(squares);
    return length > training_.clip ? training_.clip / length : 1;
  }

  void update_element(std::size_t i, double g) {
    const double change = step_.learning_rate * direction(i, g);
    parameters_[i] = static_cast<float>(parameters_[i] - change);
  }

  /// Updates the element's state. Returns the change to subtract, before the learning rate.
  double direction(std::size_t i, double g) {
    const double epsilon = training_.epsilon;
    switch (training_.optimizer) {
      case Optimizer::sgd:
        return g;
      case Optimizer::momentum:
        return keep(0, i, training_.momentum * double{state_[0][i]} + g);
      case Optimizer::adagrad:
        return g / (std::sqrt(keep(0, i, state_[0][i] + g * g)) + epsilon);
      case Optimizer::accumulate:
        keep(0, i, double{state_[0][i]} + g);
        return 0;
      case Optimizer::adam: {
        const double b1 = training_.beta1;
        const double b2 = training_.beta2;
        const auto t = static_cast<double>(step_.number);
        const double m = keep(0, i, b1 * state_[0][i] + (1 - b1) * g);
        const double v = keep(1, i, b2 * state_[1][i] + (1 - b2) * g * g);
        return m / (1 - std::pow(b1, t)) / (std::sqrt(v / (1 - std::pow(b2, t))) + epsilon);
      }
    }
    return g;
  }

  double keep(std::size_t vector, std::size_t i, double value) {
    state_[vector][i] = static_cast<float>(value);
    return value;
  }

  const Training& training_;
  const Step& step_;
  std::span<float> parameters_;
  std::span<std::vector<float>> state_;
};

}  // namespace

double step(const Network& network, const Training& training, const Batch& batch, const Step& step,
            std::span<float> parameters, std::span<std::vector<float>> state) {
  assert(static_cast<int>(state.size()) == state_vectors(training.optimizer));
  assert(std::all_of(state.begin(), state.end(),
                     [&](const auto& vector) { return vector.size() == parameters.size(); }));
  std::vector<float> gradient(parameters.size());
  const double before = loss(network, parameters, batch, training, step, gradient);
  Updater updater(training, step, parameters, state);
  for (const Row& row : rows_to_update(network, batch)) updater.update(row, gradient);
  return before;
}

}  // namespace evener::reference
