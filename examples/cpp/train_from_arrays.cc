// Trains on arrays in memory: compressed sparse rows in, a model and its metrics out. Nothing is
// written to disk.
#include <cstdio>
#include <random>

#include <evener/data/dataset.h>
#include <evener/run/session/backends.h>
#include <evener/run/session/train.h>

namespace {

constexpr std::uint32_t kFeatures = 200, kLabels = 20;

/// Each row has one label. Eight of its ten features are typical of that label, two are noise.
evener::Dataset make_rows(int rows, unsigned seed) {
  std::mt19937 random(seed);
  evener::CsrArrays features, labels;
  for (int r = 0; r < rows; ++r) {
    const std::uint32_t label = random() % kLabels;
    std::vector<bool> present(kFeatures);
    for (int i = 0; i < 8; ++i) present[label * 10 + random() % 10] = true;
    for (int i = 0; i < 2; ++i) present[random() % kFeatures] = true;
    for (std::uint32_t feature = 0; feature < kFeatures; ++feature) {
      if (!present[feature]) continue;
      features.indices.push_back(feature);  // ascending within a row
      features.values.push_back(1);
    }
    features.offsets.push_back(features.indices.size());
    labels.indices.push_back(label);
    labels.offsets.push_back(labels.indices.size());
  }
  return evener::make_dataset(std::move(features), kFeatures, std::move(labels), kLabels);
}

}  // namespace

int main() {
  evener::TrainOptions options;
  options.hidden = {64};
  options.epochs = 5;
  options.devices = "cpu:2";
  const evener::TrainingData data =
      evener::training_data_of(make_rows(4000, 1), make_rows(500, 2), options);

  evener::RunContext context;
  context.writes_directory = false;
  context.returns_models = true;
  const auto backend = evener::make_local_backend();
  const evener::TrainResult result = evener::train(options, data, *backend, context);

  std::printf("P@1 %.3f after %d epochs, %zu parameters\n", result.metrics.at("p@1"),
              static_cast<int>(result.progress.epoch), result.last_model->parameters.size());
  return result.metrics.at("p@1") > 0.9 ? 0 : 1;
}
