#include "evener/run/session/resume.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "evener/core/counted.h"
#include "evener/core/error.h"
#include "evener/run/artifacts/run_info.h"
#include "evener/run/artifacts/run_kind.h"
#include "evener/run/options/recipe.h"
#include "evener/run/session/best_model.h"

namespace evener {

namespace {

void check_same_shape(const TrainOptions& options, const Checkpoint& start) {
  for (const auto& info : train_option_table()) {
    const auto before = start.options.find(info.name);
    if (!info.shapes_model || before == start.options.end()) continue;
    if (info.get(options) != before->second) {
      throw UsageError(fmt::format("--{}: a resumed run cannot change it from {} to {}", info.name,
                                   before->second, info.get(options)));
    }
  }
}

/// The last epochs are summed as they end, so the window cannot move once it has begun.
void check_average(const TrainOptions& options, Checkpoint& start) {
  const auto vectors = static_cast<std::size_t>(state_vectors(parse_optimizer(options.optimizer)));
  if (start.state.size() < vectors) throw Error("the checkpoint lacks optimizer state");
  const auto before = [&](const char* name) { return start.options.at(name); };
  const bool same = before("epochs") == std::to_string(options.epochs) &&
                    before("average") == std::to_string(options.average);
  if (same) return;
  if (options.average == 0 && start.progress.epoch > options.epochs) {
    throw UsageError(fmt::format("--epochs {}: the run has already done {}; give more --epochs",
                                 options.epochs, counted(start.progress.epoch, "epoch")));
  }
  if (start.progress.epoch + options.average > options.epochs) {
    throw UsageError(
        fmt::format("--average {} of --epochs {}: the run has already passed the first of these "
                    "epochs; give more --epochs",
                    options.average, options.epochs));
  }
  start.state.resize(vectors);  // drops the sum of other epochs
}

}  // namespace

void check_same_data(const TrainOptions& options, const TrainingData& data,
                     const Checkpoint& start) {
  const Model& model = start.model;
  const auto rows = start.options.find(kRowsKey);
  const bool same = model.network.features == data.train.feature_count &&
                    model.network.labels == data.train.label_count && rows != start.options.end() &&
                    rows->second == std::to_string(data.row_count());
  if (!same) {
    throw UsageError(
        fmt::format("{}: this is not the data that {} was trained on ({} rows, {} "
                    "features, {} labels; now {}, {}, {})",
                    options.data, options.resume, rows == start.options.end() ? "?" : rows->second,
                    model.network.features, model.network.labels, data.row_count(),
                    data.train.feature_count, data.train.label_count));
  }
}

Checkpoint resumed_start(TrainOptions& options, Reporter& reporter) {
  auto found = load_checkpoint(options.resume + "/checkpoints",
                               [&](const std::string& text) { reporter.warn(text); });
  if (!found) {
    throw UsageError(options.resume +
                     ": there is no checkpoint to resume from: start anew (a peer of others that "
                     "are at it gets their model: evener worker --peers)");
  }
  options = with_earlier_recipe(options, found->options);
  check_same_shape(options, *found);
  check_average(options, *found);
  return std::move(*found);
}

std::optional<TrainResult> finished_run(const TrainOptions& options, const Checkpoint& start) {
  const bool early = stops_early(options, start.progress);
  if (start.progress.epoch < options.epochs && !early) return std::nullopt;
  const auto records = last_records(options.resume + "/metrics.jsonl");
  const auto end = records.find("end");
  const std::string how = end == records.end() ? "" : end->second.value("ended", "");
  const bool ended = how == "epochs" || how == "early stop";
  const bool has_model = std::filesystem::exists(options.resume + "/last.safetensors");
  if (!ended || !has_model) return std::nullopt;
  TrainResult result;
  result.was_complete = true;
  result.directory = options.resume;
  result.ended = how;
  result.progress = start.progress;
  result.metrics = metrics_in(end->second);
  result.metrics_epoch = start.progress.epoch;
  if (start.progress.best_epoch > 0) result.best_by = deciding_metric(options);
  if (const auto epoch = records.find("epoch"); epoch != records.end()) {
    result.train_loss = epoch->second.value("train_loss", 0.0);
  }
  result.virtual_time = run_kind(start.options) == RunKind::virtual_time;
  result.strategy = strategy_of(options);
  return result;
}

}  // namespace evener
