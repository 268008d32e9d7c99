// Compares training steps and metrics with values of an independent NumPy / scikit-learn program
// (tests/golden/make_golden.py).
#include <cmath>
#include <fstream>

#include "tests/nn/problem.h"
#include "tests/places.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "evener/nn/metrics.h"
#include "evener/nn/reference.h"

namespace evener {
namespace {

using Json = nlohmann::json;

const Json& golden() {
  static const Json kGolden =
      Json::parse(std::ifstream(EVENER_SOURCE_DIR "/tests/golden/golden.json"));
  return kGolden;
}

Network network_of(const Json& json) {
  return {.features = json["features"],
          .hidden = json["hidden"],
          .labels = json["labels"],
          .activation = parse_activation(json["activation"]),
          .loss = parse_loss(json["loss"]),
          .input = parse_input(json["input"])};
}

Training training_of(const Json& json) {
  return {.optimizer = parse_optimizer(json["optimizer"]),
          .momentum = json["momentum"],
          .beta1 = json["beta1"],
          .beta2 = json["beta2"],
          .epsilon = json["epsilon"],
          .l2 = json["l2"],
          .clip = json["clip"],
          .dropout = json["dropout"],
          .input_dropout = json["input_dropout"],
          .seed = json["seed"]};
}

/// Calls visit(element of the parameter vector, value) for all values of one layer's segment.
template <class Visit>
void each_value(const Segment& segment, const Json& rows, const Visit& visit) {
  ASSERT_EQ(rows.size(), segment.rows);
  for (std::size_t r = 0; r < segment.rows; ++r) {
    ASSERT_EQ(rows[r].size(), segment.cols);
    for (std::size_t c = 0; c < segment.cols; ++c) {
      visit(segment.offset + r * segment.stride + c, rows[r][c].get<double>());
    }
  }
}

template <class Visit>
void each_parameter(const Layout& layout, const Json& layers, const Visit& visit) {
  ASSERT_EQ(layers.size(), layout.layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    each_value(layout.layers[i].weight, layers[i]["weight"], visit);
    each_value(layout.layers[i].bias, Json::array({layers[i]["bias"]}), visit);
  }
}

/// Relative, with a floor: parameters of size 0.1-1 move by sums that may cancel.
double tolerance(double expected) {
  return 1e-5 * std::max(std::abs(expected), 0.02);
}

void run_training(const Json& json) {
  const Network network = network_of(json);
  const Training training = training_of(json["training"]);
  const Layout layout = layout_of(network);
  const Dataset data = dataset_of(json["rows"], network.features,
                                  json["truth"].get<std::vector<LabelRow>>(), network.labels);
  std::vector<float> parameters(layout.size);
  each_parameter(layout, json["start"],
                 [&](std::size_t i, double value) { parameters[i] = static_cast<float>(value); });
  std::vector<std::vector<float>> state(static_cast<std::size_t>(state_vectors(training.optimizer)),
                                        std::vector<float>(layout.size));
  Step step{.number = 0, .learning_rate = json["training"]["rate"]};
  for (std::size_t i = 0; i < json["batches"].size(); ++i) {
    const auto rows = json["batches"][i].get<std::vector<std::uint32_t>>();
    ++step.number;
    const double loss = reference::step(network, training, {&data, rows}, step, parameters, state);
    const double expected = json["losses"][i];
    EXPECT_NEAR(loss, expected, 1e-5 * expected) << "step " << step.number;
  }
  each_parameter(layout, json["end"], [&](std::size_t i, double value) {
    EXPECT_NEAR(parameters[i], value, tolerance(value)) << "parameter " << i;
  });
}

TEST(Golden, TrainingSteps) {
  ASSERT_EQ(golden()["training"].size(), 14U);
  for (const auto& json : golden()["training"]) {
    SCOPED_TRACE(json["training"]["optimizer"].get<std::string>() + " " +
                 json["loss"].get<std::string>() + " " + json["hidden"].dump());
    run_training(json);
  }
}

Predictions read_predictions(const Json& json) {
  Predictions predictions;
  predictions.k = json["k"];
  for (std::size_t row = 0; row < json["best"].size(); ++row) {
    for (std::size_t i = 0; i < predictions.k; ++i) {
      predictions.labels.push_back(json["best"][row][i]);
      predictions.scores.push_back(json["scores"][row][i]);
    }
  }
  predictions.losses = json["losses"].get<std::vector<float>>();
  return predictions;
}

TEST(Golden, Metrics) {
  ASSERT_EQ(golden()["metrics"].size(), 2U);
  for (const auto& json : golden()["metrics"]) {
    SCOPED_TRACE(json["name"].get<std::string>());
    std::vector<float> weights;
    if (json.contains("train")) {
      const auto train = json["train"].get<std::vector<LabelRow>>();
      weights = inverse_propensities(
          dataset_of(std::vector<SparseRow>(train.size()), 1, train, json["labels"]));
      for (std::size_t l = 0; l < weights.size(); ++l) {
        const double expected = json["inverse_propensity"][l];
        EXPECT_NEAR(weights[l], expected, 1e-6 * expected) << "label " << l;
      }
    }
    const CsrArrays truth = label_arrays(json["truth"]);
    const auto metrics = evaluate(read_predictions(json), truth.view(), json["labels"], weights);
    for (const auto& [name, value] : json["values"].items()) {
      ASSERT_TRUE(metrics.contains(name)) << name;
      EXPECT_NEAR(metrics.at(name), value.get<double>(), 1e-6) << name;
    }
  }
}

}  // namespace
}  // namespace evener
