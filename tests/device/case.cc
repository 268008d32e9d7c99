#include "tests/device/case.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/device/devices_here.h"
#include "tests/device/random_data.h"
#include <fmt/format.h>
#include <rapidcheck.h>

#include "evener/device/cpu/cpu_device.h"
#include "evener/nn/initialise.h"

namespace evener {

namespace {

constexpr float kQuarter = 0.25F;
constexpr std::uint32_t kFewInputs = 8;

std::vector<std::uint32_t> drawn_layers(Input input) {
  const auto least = input == Input::sparse ? 1U : 0U;  // without a hidden layer input is dense
  const auto depth = *rc::gen::inRange(least, 4U).as("hidden layers");
  std::vector<std::uint32_t> hidden;
  for (std::uint32_t i = 0; i < depth; ++i) {
    const auto widest = *rc::gen::element(5U, 40U, 140U).as("widest");
    hidden.push_back(*rc::gen::inRange(1U, widest + 1).as("units"));
  }
  return hidden;
}

float random_quarter(Random& random) {
  return kQuarter * (static_cast<float>(random.below(5)) - 2);
}

/// Hidden layers with exact sums.
void make_exact(const Network& network, Random& random, std::vector<float>& parameters) {
  const Layout layout = layout_of(network);
  for (std::size_t i = 0; i + 1 < layout.layers.size(); ++i) {
    const auto& [weight, bias] = layout.layers[i];
    for (std::size_t row = 0; row < weight.rows; ++row) {
      float* begin = parameters.data() + weight.offset + row * weight.stride;
      if (i == 0) {  // a sample has few features
        std::generate_n(begin, weight.cols, [&] { return random_quarter(random); });
        continue;
      }
      std::fill_n(begin, weight.cols, 0.0F);
      for (std::uint32_t n = 0; n < kFewInputs; ++n) {
        begin[random.below(weight.cols)] = random_quarter(random);
      }
    }
    std::generate_n(parameters.begin() + static_cast<std::ptrdiff_t>(bias.offset), bias.cols,
                    [&] { return random_quarter(random); });
  }
}

/// Plausible optimizer state; padding stays zero.
std::vector<float> random_state(const Network& network, Random& random, float least, float most) {
  const Layout layout = layout_of(network);
  std::vector<float> values(layout.size);
  for (const Segment& segment : layout.segments()) {
    for (std::size_t row = 0; row < segment.rows; ++row) {
      std::generate_n(
          values.begin() + static_cast<std::ptrdiff_t>(segment.offset + row * segment.stride),
          segment.cols,
          [&] { return least + (most - least) * static_cast<float>(random.uniform()); });
    }
  }
  return values;
}

}  // namespace

std::vector<float> start_of(const Case& c) {
  std::vector<float> parameters(layout_of(c.network).size);
  initialise(c.network, c.training.seed, parameters);
  Random random(c.training.seed, 8);
  for (const LayerSegments& layer : layout_of(c.network).layers) {
    for (std::size_t i = 0; c.biased && i < layer.bias.rows * layer.bias.cols; ++i) {
      parameters[layer.bias.offset + i] = static_cast<float>(2 * random.uniform() - 1);
    }
  }
  return parameters;
}

std::vector<std::uint32_t> all_rows_of(const Case& c) {
  std::vector<std::uint32_t> rows(c.data.rows());
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

std::unique_ptr<Replica> make_replica(const Case& c, const std::string& device) {
  if (!device.starts_with("cpu/")) {
    return open_device(device, c.memory_limit)->make_replica(c.network, c.training);
  }
  return cpu::make_cpu_device({.threads = c.threads, .keep_bytes = c.keep_bytes})
      ->make_replica(c.network, c.training);
}

Case drawn_case(Loss loss, Optimizer optimizer, Input input) {
  Case c;
  c.network.loss = loss;
  c.network.input = input;
  c.network.activation =
      parse_activation(*rc::gen::element<std::string>("relu", "sigmoid", "tanh").as("activation"));
  c.network.hidden = drawn_layers(input);
  c.network.features = *rc::gen::inRange(1U, 61U).as("features");
  const auto most_labels = *rc::gen::element(10U, 100U, 400U).as("most labels");
  c.network.labels = *rc::gen::inRange(2U, most_labels + 1).as("labels");
  c.training.optimizer = optimizer;
  c.training.epsilon = 1e-3F;                // keeps adam's first steps from magnifying rounding
  if (optimizer != Optimizer::accumulate) {  // these apply to the later update
    c.training.l2 = *rc::gen::element(0.0F, 0.01F).as("l2");
    c.training.clip = *rc::gen::element(0.0F, 0.0F, 0.05F).as("clip");
  }
  c.training.dropout = *rc::gen::element(0.0F, 0.0F, 0.5F).as("dropout");
  c.training.input_dropout = *rc::gen::element(0.0F, 0.0F, 0.5F).as("input dropout");
  c.training.seed = *rc::gen::arbitrary<std::uint64_t>().as("seed");
  Random random(c.training.seed, 1);
  const auto rows = *rc::gen::inRange<std::size_t>(1, 91).as("rows");
  c.data = random_data(random, rows, c.network.features, c.network.labels,
                       {.most = kFewInputs, .grain = kQuarter});
  c.batch = *rc::gen::inRange<std::size_t>(1, 81).as("batch");
  c.threads = *rc::gen::element(1, 2, 3).as("threads");
  c.keep_bytes = *rc::gen::element<std::size_t>(0, 1, 200'000).as("keep bytes");
  c.biased = *rc::gen::element(false, true).as("biased");
  return c;
}

Vectors drawn_vectors(const Case& c) {
  Random random(c.training.seed, 2);
  Vectors vectors{start_of(c)};
  if (c.network.activation == Activation::relu) make_exact(c.network, random, vectors[0]);
  // Sums of squares are positive, and far enough from zero not to magnify rounding.
  const bool squares = c.training.optimizer == Optimizer::adagrad;
  const bool adam = c.training.optimizer == Optimizer::adam;
  if (state_vectors(c.training.optimizer) > 0) {
    vectors.push_back(squares ? random_state(c.network, random, 0.25F, 1)
                              : random_state(c.network, random, -0.1F, 0.1F));
  }
  if (adam) vectors.push_back(random_state(c.network, random, 0.25F, 1));
  return vectors;
}

double worst_difference(std::span<const float> a, std::span<const float> b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(a[i]) - b[i]) /
                                (1.0 + std::abs(static_cast<double>(b[i]))));
  }
  return worst;
}

std::string first_difference(const Network& network, std::span<const float> actual,
                             std::span<const float> expected, double tolerance) {
  for (const Segment& segment : layout_of(network).segments()) {
    for (std::size_t row = 0; row < segment.rows; ++row) {
      for (std::size_t i = 0; i < segment.stride; ++i) {
        const std::size_t at = segment.offset + row * segment.stride + i;
        const double wanted = i < segment.cols ? expected[at] : 0;
        const double error = std::abs(actual[at] - wanted);
        if (error <= (i < segment.cols ? tolerance : 0) * (1 + std::abs(wanted))) continue;
        return fmt::format("{} row {} of {}, place {} of {}: {} instead of {}", segment.name, row,
                           segment.rows, i, segment.cols, actual[at], wanted);
      }
    }
  }
  return "";
}

}  // namespace evener
