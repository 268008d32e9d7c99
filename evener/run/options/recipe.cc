#include "evener/run/options/recipe.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace evener {

namespace {

// Rows with one label are a classification task, which softmax models. For rows with many labels,
// independent sigmoids rank better, but only if labels have enough rows to learn from; if most
// labels have only a few rows, softmax learns faster and better.
constexpr double kRowsPerLabel = 10;

std::string loss_for(const Dataset& data) {
  bool one_each = true;
  for (std::size_t row = 0; row < data.rows() && one_each; ++row) {
    one_each = data.labels.row(row).indices.size() == 1;
  }
  if (one_each) return "softmax";
  const double rows_per_label = static_cast<double>(data.labels.nonzeros()) /
                                static_cast<double>(std::max<std::uint32_t>(1, data.label_count));
  return rows_per_label >= kRowsPerLabel ? "sigmoid" : "softmax";
}

double learning_rate_for(const TrainOptions& options) {
  if (options.optimizer == "sgd") return 0.5;
  if (options.optimizer == "momentum") return 0.05;
  if (options.optimizer == "adagrad") return 0.05;
  return options.loss == "sigmoid" ? 0.01 : 0.003;
}

// Small data sets need more epochs: about this many updates, within bounds that prevent overfitting
// on the smallest sets and let the largest converge.
constexpr double kUpdates = 800;
constexpr double kFewestEpochs = 9;
constexpr double kMostEpochs = 40;

std::uint32_t epochs_for(const TrainOptions& options, std::size_t rows) {
  const double updates = std::max(1.0, static_cast<double>(rows) / options.global_batch_size);
  return static_cast<std::uint32_t>(
      std::clamp(std::ceil(kUpdates / updates), kFewestEpochs, kMostEpochs));
}

// With many rows a narrow layer is enough, and each unit costs one multiplication per label. With
// few rows, wide layers with much dropout learn better.
constexpr std::size_t kManyRows = 30'000;
constexpr std::uint32_t kWide = 512;

std::vector<std::uint32_t> hidden_for(std::size_t rows) {
  return {rows >= kManyRows ? kWide / 2 : kWide};
}

double dropout_for(const TrainOptions& options) {
  const auto widest = std::max_element(options.hidden.begin(), options.hidden.end());
  return widest == options.hidden.end() || *widest >= kWide ? 0.5 : 0.4;
}

// On a shortlist each step touches few labels, so a narrow layer, AdaGrad and small batches learn
// in a few epochs (docs/many_labels.md).
constexpr std::uint32_t kShortlistWidth = 128;
constexpr std::uint32_t kShortlistBatch = 32;
constexpr double kShortlistRate = 0.05;
// The gradient of a batch is a mean: about as large as the first gradients of a row's weights.
constexpr double kShortlistEpsilon = 0.01 / kShortlistBatch;
constexpr double kShortlistInputDropout = 0.2;
constexpr std::uint32_t kShortlistEpochs = 5;

TrainOptions with_shortlist_recipe(TrainOptions options) {
  if (options.hidden == std::vector{kAutoWidth}) options.hidden = {kShortlistWidth};
  if (options.learning_rate == 0) options.learning_rate = kShortlistRate;
  if (options.epochs == 0 && options.seconds == 0) {
    options.epochs = options.ablates("network") ? 1 : kShortlistEpochs;
  }
  return options;
}

}  // namespace

TrainOptions with_shortlist_training(TrainOptions options) {
  options.activation = "relu";
  options.loss = "sigmoid";
  options.input = "sparse";
  options.optimizer = "adagrad";
  options.epsilon = kShortlistEpsilon;
  options.dropout = 0;
  options.input_dropout = kShortlistInputDropout;
  options.global_batch_size = options.reference_batch = kShortlistBatch;
  options.decay = "cosine";
  options.decay_factor = 0;
  return options;
}

TrainOptions with_recipe(TrainOptions options, const Dataset& data, std::size_t rows) {
  if (options.has_shortlist()) return with_shortlist_recipe(std::move(options));
  if (options.loss == "auto") options.loss = loss_for(data);
  if (options.hidden == std::vector{kAutoWidth}) options.hidden = hidden_for(rows);
  if (options.dropout == kAutoDropout) options.dropout = dropout_for(options);
  if (options.learning_rate == 0) options.learning_rate = learning_rate_for(options);
  if (options.epochs == 0 && options.seconds == 0) options.epochs = epochs_for(options, rows);
  return options;
}

TrainOptions with_earlier_recipe(TrainOptions options, const OptionTexts& earlier) {
  const auto take = [&](const char* name) {
    find_train_option(name).set(options, earlier.at(name));
  };
  if (options.head == "auto")
    options.head = earlier.count("head") > 0 ? earlier.at("head") : "full";
  if (options.has_shortlist()) {
    take("optimizer");
    take("input");
  }
  if (options.loss == "auto") take("loss");
  if (options.hidden == std::vector{kAutoWidth}) take("hidden");
  if (options.dropout == kAutoDropout) take("dropout");
  if (options.learning_rate == 0) take("learning-rate");
  if (options.epochs == 0 && options.seconds == 0) take("epochs");
  return options;
}

}  // namespace evener
