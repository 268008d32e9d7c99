// Adds a strategy from outside the library, and trains with it on two simulated devices.
#include <cstdio>
#include <random>

#include <evener/data/dataset.h>
#include <evener/policy/catalogue.h>
#include <evener/policy/rounds.h>
#include <evener/run/session/backends.h>
#include <evener/run/session/train.h>

namespace {

using namespace evener;

/// Each worker trains one batch on its own replica; then the worker that is favoured in this round
/// gets the weight `favour` in the average, and the others share the rest.
class TurnTaking final : public Rounds {
 public:
  TurnTaking(std::size_t rows, double favour) : Rounds(1, rows, Work::local), favour_(favour) {}

 private:
  Decision end_of_round(const std::vector<std::size_t>& rows) override {
    std::vector<int> present;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] > 0) present.push_back(static_cast<int>(i));
    }
    Merge merge;
    merge.weights.assign(rows.size(), 0);
    const int favoured = present[turn_++ % present.size()];
    for (const int worker : present) {
      const double others = static_cast<double>(present.size()) - 1;
      const double weight = others == 0 ? 1 : worker == favoured ? favour_ : (1 - favour_) / others;
      merge.weights[static_cast<std::size_t>(worker)] = weight;
    }
    return merge;
  }

  double favour_;
  std::size_t turn_ = 0;
};

Strategy turn_taking() {
  return {.name = "turn-taking",
          .line = "replicas are averaged after every step, with one of them favoured in turn",
          .sharing = Sharing::replicas,
          .options = {number_option("favour", "0.6", 0, 1, "weight of the favoured replica")},
          .make = [](const PolicyConfig& config) {
            return std::make_unique<TurnTaking>(config.own_batch(), config.values.number("favour"));
          }};
}

/// Rows whose label is their only feature.
Dataset make_rows(int rows) {
  std::mt19937 random(1);
  CsrArrays features, labels;
  for (int r = 0; r < rows; ++r) {
    const std::uint32_t label = random() % 10;
    features.indices.push_back(label);
    features.values.push_back(1);
    features.offsets.push_back(features.indices.size());
    labels.indices.push_back(label);
    labels.offsets.push_back(labels.indices.size());
  }
  return make_dataset(std::move(features), 10, std::move(labels), 10);
}

}  // namespace

int main() {
  register_strategy(turn_taking());

  TrainOptions options;
  options.strategy = "turn-taking:favour=0.7";
  options.hidden = {16};
  options.epochs = 10;
  options.global_batch_size = 32;
  const TrainingData data = training_data_of(make_rows(4000), make_rows(500), options);

  VirtualTimeOptions devices;
  devices.devices = {{.name = "fast", .per_row = 1e-5}, {.name = "slow", .per_row = 4e-5}};
  RunContext context;
  context.writes_directory = false;
  const auto backend = make_virtual_backend(devices);
  const TrainResult result = train(options, data, *backend, context);

  std::printf("%s: P@1 %.3f after %.2f virtual seconds\n", result.strategy.c_str(),
              result.metrics.at("p@1"), result.progress.seconds);
  return result.metrics.at("p@1") > 0.9 ? 0 : 1;
}
