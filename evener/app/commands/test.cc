// evener test
#include <memory>

#include <nlohmann/json.hpp>

#include "evener/app/commands/commands.h"
#include "evener/app/options/model_options.h"
#include "evener/app/shell/output.h"
#include "evener/nn/metrics.h"
#include "evener/run/report/metric_text.h"
#include "evener/run/session/evaluate.h"

namespace evener {

namespace {

void run_test(const ModelOptions& options, const Environment& environment) {
  const LoadedModel loaded = load_for(options, environment);
  const auto predictions = predict_all(*loaded.replica, loaded.data, kEvaluationTop);
  const Metrics metrics = evaluate(*predictions, loaded.data.labels, loaded.data.label_count,
                                   loaded.model.inverse_propensity);
  print(options.json ? nlohmann::json(metrics).dump() + "\n" : metrics_table(metrics));
}

}  // namespace

void add_test(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("test", "evaluate a model on data with known labels");
  command->footer(
      "Examples:\n"
      "  evener test runs/first test.txt\n"
      "  evener test model.safetensors test.txt --json");
  auto options = std::make_shared<ModelOptions>();
  add_model_options(*command, *options);
  command->callback([options, &shell] { run_test(*options, shell.environment); });
}

}  // namespace evener
