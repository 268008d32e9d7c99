// Loss, gradient and prediction, row by row and in double precision. Every layer is written as
// units that read a list of (index, value) inputs: a sparse row as it is, hidden units in full.
#include "evener/nn/reference.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "evener/nn/reference_listed.h"

namespace evener::reference {

namespace {

struct Entry {
  std::size_t index;
  double value;
};

/// Values of one row's forward pass that the backward pass needs.
struct Trace {
  std::vector<std::vector<Entry>> inputs;     // inputs of each layer, after dropout
  std::vector<std::vector<double>> outputs;   // outputs of each hidden layer, before dropout
  std::vector<std::vector<double>> dropouts;  // factor of each hidden unit
  std::vector<double> logits;
};

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
  }
  return x;
}

/// Derivative at the point where the activation gave `output`.
double slope(Activation activation, double output) {
  switch (activation) {
    case Activation::relu:
      return output > 0 ? 1 : 0;
    case Activation::sigmoid:
      return output * (1 - output);
    case Activation::tanh:
      return 1 - output * output;
  }
  return 1;
}

/// Parameters with their shape, and the dropout masks (layer 0: the input) or none.
class Model {
 public:
  Model(const Network& network, std::span<const float> parameters, std::vector<DropoutMask> masks)
      : network_(network),
        layout_(layout_of(network)),
        parameters_(parameters),
        masks_(std::move(masks)) {
    assert(parameters.size() == layout_.size);
  }

  Trace forward(const RowView& row, std::uint32_t row_in_batch) const;

  /// Adds the row's gradient, given that of its logits (`delta`).
  void backward(const Trace& trace, std::vector<double> delta, std::span<double> gradient) const;

 private:
  /// Where the weight between `input` and `unit` lies.
  std::size_t weight(std::size_t layer, std::size_t unit, std::size_t input) const {
    const Segment& segment = layout_.layers[layer].weight;
    const bool by_feature = layer == 0 && network_.sparse_input();
    return segment.offset +
           (by_feature ? input * segment.stride + unit : unit * segment.stride + input);
  }
  std::size_t bias(std::size_t layer, std::size_t unit) const {
    return layout_.layers[layer].bias.offset + unit;
  }
  std::size_t units(std::size_t layer) const { return layout_.layers[layer].bias.cols; }
  double dropout(std::size_t layer, std::uint32_t row, std::size_t unit) const {
    if (masks_.empty() || !masks_[layer].active()) return 1;
    return masks_[layer].factor(row, static_cast<std::uint32_t>(unit));
  }
  /// Weighted sums of a layer's inputs plus bias.
  std::vector<double> sums(std::size_t layer, const std::vector<Entry>& inputs) const;

  const Network& network_;
  Layout layout_;
  std::span<const float> parameters_;
  std::vector<DropoutMask> masks_;
};

std::vector<double> Model::sums(std::size_t layer, const std::vector<Entry>& inputs) const {
  std::vector<double> result(units(layer));
  for (std::size_t unit = 0; unit < result.size(); ++unit) {
    double sum = parameters_[bias(layer, unit)];
    for (const auto& [index, value] : inputs)
      sum += parameters_[weight(layer, unit, index)] * value;
    result[unit] = sum;
  }
  return result;
}

Trace Model::forward(const RowView& row, std::uint32_t row_in_batch) const {
  Trace trace;
  std::vector<Entry> inputs;
  for (std::size_t i = 0; i < row.indices.size(); ++i) {
    const double value = row.values.empty() ? 1.0 : row.values[i];
    inputs.push_back({row.indices[i], value * dropout(0, row_in_batch, row.indices[i])});
  }
  for (std::size_t layer = 0; layer < network_.hidden.size(); ++layer) {
    auto outputs = sums(layer, inputs);
    std::vector<double> factors;
    trace.inputs.push_back(std::move(inputs));
    inputs.clear();
    for (std::size_t unit = 0; unit < outputs.size(); ++unit) {
      outputs[unit] = activate(network_.activation, outputs[unit]);
      factors.push_back(dropout(layer + 1, row_in_batch, unit));
      inputs.push_back({unit, outputs[unit] * factors.back()});
    }
    trace.outputs.push_back(std::move(outputs));
    trace.dropouts.push_back(std::move(factors));
  }
  trace.logits = sums(network_.hidden.size(), inputs);
  trace.inputs.push_back(std::move(inputs));
  return trace;
}

void Model::backward(const Trace& trace, std::vector<double> delta,
                     std::span<double> gradient) const {
  for (std::size_t layer = network_.hidden.size() + 1; layer-- > 0;) {
    for (std::size_t unit = 0; unit < units(layer); ++unit) {
      gradient[bias(layer, unit)] += delta[unit];
      for (const auto& [index, value] : trace.inputs[layer]) {
        gradient[weight(layer, unit, index)] += delta[unit] * value;
      }
    }
    if (layer == 0) break;
    const auto& outputs = trace.outputs[layer - 1];
    std::vector<double> below(outputs.size());
    for (std::size_t input = 0; input < below.size(); ++input) {
      double sum = 0;
      for (std::size_t unit = 0; unit < units(layer); ++unit) {
        sum += delta[unit] * parameters_[weight(layer, unit, input)];
      }
      below[input] =
          sum * trace.dropouts[layer - 1][input] * slope(network_.activation, outputs[input]);
    }
    delta = std::move(below);
  }
}

/// log of the sum of exponentials, which neither overflows nor underflows.
double log_sum_exp(const std::vector<double>& logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double z : logits) sum += std::exp(z - largest);
  return largest + std::log(sum);
}

double softmax_loss(const std::vector<double>& logits, std::span<const std::uint32_t> labels,
                    std::vector<double>& delta) {
  if (labels.empty()) return 0;
  const double normaliser = log_sum_exp(logits);
  const double target = 1 / static_cast<double>(labels.size());
  double loss = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) delta[i] = std::exp(logits[i] - normaliser);
  for (const auto label : labels) {
    loss += target * (normaliser - logits[label]);
    delta[label] -= target;
  }
  return loss;
}

/// -y log s(z) - (1-y) log(1-s(z)) = max(z,0) - y z + log(1+exp(-|z|)), summed over labels.
double sigmoid_loss(const std::vector<double>& logits, std::span<const std::uint32_t> labels,
                    std::vector<double>& delta) {
  double loss = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    loss += std::max(logits[i], 0.0) + std::log1p(std::exp(-std::abs(logits[i])));
    delta[i] = activate(Activation::sigmoid, logits[i]);
  }
  for (const auto label : labels) {
    loss -= logits[label];
    delta[label] -= 1;
  }
  return loss;
}

double squared_loss(const std::vector<double>& logits, std::span<const std::uint32_t> labels,
                    std::vector<double>& delta) {
  delta = logits;
  for (const auto label : labels) delta[label] -= 1;
  return std::inner_product(delta.begin(), delta.end(), delta.begin(), 0.0) / 2;
}

/// The row's loss; `delta` becomes its derivative by the logits.
double row_loss(Loss loss, const std::vector<double>& logits, std::span<const std::uint32_t> labels,
                std::vector<double>& delta) {
  delta.assign(logits.size(), 0.0);
  switch (loss) {
    case Loss::softmax:
      return softmax_loss(logits, labels, delta);
    case Loss::sigmoid:
      return sigmoid_loss(logits, labels, delta);
    case Loss::squared:
      return squared_loss(logits, labels, delta);
  }
  return 0;
}

std::vector<DropoutMask> masks_of(const Network& network, const Training& training,
                                  const Step& step) {
  std::vector<DropoutMask> masks;
  for (std::uint32_t layer = 0; layer <= network.hidden.size(); ++layer) {
    const float rate = layer == 0 ? training.input_dropout : training.dropout;
    masks.emplace_back(rate, training.seed, step.number, layer);
  }
  return masks;
}

std::vector<double> scores_of(Loss loss, std::vector<double> logits) {
  if (loss == Loss::softmax) {
    const double normaliser = log_sum_exp(logits);
    for (double& z : logits) z = std::exp(z - normaliser);
  } else if (loss == Loss::sigmoid) {
    for (double& z : logits) z = activate(Activation::sigmoid, z);
  }
  return logits;
}

/// Ranked by logit: probabilities close to 0 or 1 round to ties that the logits do not have.
std::vector<std::uint32_t> best_labels(const std::vector<double>& logits, std::uint32_t k) {
  std::vector<std::uint32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return logits[a] > logits[b]; });
  order.resize(k);
  return order;
}

}  // namespace

double loss(const Network& network, std::span<const float> parameters, const Batch& batch,
            const Training& training, const Step& step, std::span<float> gradient) {
  assert(gradient.empty() || gradient.size() == parameters.size());
  if (network.listed_output()) {
    return listed_loss(network, parameters, batch, training, step, gradient);
  }
  const Model model(network, parameters, masks_of(network, training, step));
  const double share = batch.rows.empty() ? 0 : 1 / static_cast<double>(batch.rows.size());
  std::vector<double> sum(gradient.size());
  std::vector<double> delta;
  double total = 0;
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    const auto row = batch.rows[i];
    const auto trace = model.forward(batch.data->features.row(row), static_cast<std::uint32_t>(i));
    total +=
        share * row_loss(network.loss, trace.logits, batch.data->labels.row(row).indices, delta);
    if (gradient.empty()) continue;
    for (double& d : delta) d *= share;
    model.backward(trace, delta, sum);
  }
  std::transform(sum.begin(), sum.end(), gradient.begin(),
                 [](double g) { return static_cast<float>(g); });
  return total;
}

Predictions predict(const Network& network, std::span<const float> parameters, const Batch& batch,
                    std::uint32_t k) {
  if (network.listed_output()) return listed_predict(network, parameters, batch, k);
  const Model model(network, parameters, {});
  Predictions result;
  result.k = std::min(k, network.labels);
  std::vector<double> delta;
  for (const auto row : batch.rows) {
    const auto trace = model.forward(batch.data->features.row(row), 0);
    const auto labels = batch.data->labels.row(row).indices;
    const auto scores = scores_of(network.loss, trace.logits);
    for (const auto label : best_labels(trace.logits, result.k)) {
      result.labels.push_back(label);
      result.scores.push_back(static_cast<float>(scores[label]));
    }
    result.losses.push_back(
        static_cast<float>(row_loss(network.loss, trace.logits, labels, delta)));
  }
  return result;
}

}  // namespace evener::reference
