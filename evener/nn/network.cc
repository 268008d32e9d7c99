#include "evener/nn/network.h"

#include <array>
#include <utility>

#include "evener/core/error.h"

namespace evener {

namespace {

template <class E, std::size_t N>
using Names = std::array<std::pair<E, const char*>, N>;

constexpr Names<Activation, 3> kActivations{
    {{Activation::relu, "relu"}, {Activation::sigmoid, "sigmoid"}, {Activation::tanh, "tanh"}}};
constexpr Names<Loss, 3> kLosses{
    {{Loss::softmax, "softmax"}, {Loss::sigmoid, "sigmoid"}, {Loss::squared, "squared"}}};
constexpr Names<Input, 2> kInputs{{{Input::sparse, "sparse"}, {Input::dense, "dense"}}};
constexpr Names<Output, 2> kOutputs{{{Output::full, "full"}, {Output::listed, "listed"}}};

template <class E, std::size_t N>
std::string name_of(const Names<E, N>& names, E value) {
  for (const auto& [candidate, name] : names) {
    if (candidate == value) return name;
  }
  return "?";
}

template <class E, std::size_t N>
E parse(const Names<E, N>& names, const std::string& text, const std::string& what) {
  std::string valid;
  for (const auto& [candidate, name] : names) {
    if (text == name) return candidate;
    valid += (valid.empty() ? "" : ", ") + std::string(name);
  }
  throw UsageError("unknown " + what + " '" + text + "'; valid: " + valid);
}

void check_listed(const Network& network) {
  if (!network.listed_output()) return;
  if (network.sparse_input() && network.hidden.size() == 1 &&
      network.activation == Activation::relu && network.loss == Loss::sigmoid) {
    return;
  }
  throw Error(
      "a listed output needs a sparse input, one hidden layer of relu and the sigmoid loss");
}

}  // namespace

std::size_t padded(std::size_t floats) {
  return (floats + 31) / 32 * 32;
}

Layout layout_of(const Network& network) {
  check_listed(network);
  Layout layout;
  const auto add = [&](std::string name, std::size_t rows, std::size_t cols) {
    Segment segment{std::move(name), layout.size, rows, cols, padded(cols)};
    layout.size += segment.size();
    return segment;
  };
  std::size_t in = network.features;
  for (std::size_t i = 0; i <= network.hidden.size(); ++i) {
    const bool last = i == network.hidden.size();
    const std::size_t out = last ? network.labels : network.hidden[i];
    const std::string name = last ? "output" : "hidden" + std::to_string(i + 1);
    const bool by_feature = i == 0 && network.sparse_input();
    auto weight = add(name + ".weight", by_feature ? in : out, by_feature ? out : in);
    auto bias = add(name + ".bias", last && network.listed_output() ? 0 : 1, out);
    layout.layers.push_back({std::move(weight), std::move(bias)});
    in = out;
  }
  return layout;
}

std::vector<Segment> Layout::segments() const {
  std::vector<Segment> all;
  for (const auto& layer : layers) {
    all.push_back(layer.weight);
    all.push_back(layer.bias);
  }
  return all;
}

std::size_t Layout::parameters() const {
  std::size_t count = 0;
  for (const auto& layer : layers) {
    count += layer.weight.rows * layer.weight.cols + layer.bias.rows * layer.bias.cols;
  }
  return count;
}

std::size_t sparse_rows(const Network& network) {
  if (!network.sparse_input()) return 0;
  return network.listed_output() ? std::size_t{first_label_row(network)} + network.labels
                                 : network.features;
}

std::string to_string(Activation activation) {
  return name_of(kActivations, activation);
}
std::string to_string(Loss loss) {
  return name_of(kLosses, loss);
}
std::string to_string(Input input) {
  return name_of(kInputs, input);
}
std::string to_string(Output output) {
  return name_of(kOutputs, output);
}
Activation parse_activation(const std::string& name) {
  return parse(kActivations, name, "activation");
}
Loss parse_loss(const std::string& name) {
  return parse(kLosses, name, "loss");
}
Input parse_input(const std::string& name) {
  return parse(kInputs, name, "input");
}
Output parse_output(const std::string& name) {
  return parse(kOutputs, name, "output");
}

}  // namespace evener
