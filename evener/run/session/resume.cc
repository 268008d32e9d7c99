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
#include "evener/run/session/checkpointing.h"

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

void check_epochs(const TrainOptions& options, const Progress& progress) {
  if (options.average == 0 && progress.epoch > options.epochs) {
    throw UsageError(fmt::format("--epochs {}: the run has already done {}; give more --epochs",
                                 options.epochs, counted(progress.epoch, "epoch")));
  }
  if (progress.epoch + options.average > options.epochs) {
    throw UsageError(
        fmt::format("--average {} of --epochs {}: the run has already passed the first of these "
                    "epochs; give more --epochs",
                    options.average, options.epochs));
  }
}

void check_time(const TrainOptions& options, const Progress& progress) {
  const double used = progress.training_seconds;
  if (used >= options.seconds) {
    throw UsageError(
        fmt::format("--seconds {:g}: the run has already trained for {:.3g}; give "
                    "more --seconds",
                    options.seconds, used));
  }
  if (options.average > 0 &&
      is_among_last(progress.epoch, options.average, used / options.seconds)) {
    throw UsageError(
        fmt::format("--average {} of --seconds {:g}: the run has already passed the first of these "
                    "epochs; give more --seconds",
                    options.average, options.seconds));
  }
}

/// The last epochs are summed as they end, so the window cannot move once it has begun.
void check_average(const TrainOptions& options, Checkpoint& start) {
  const auto vectors = static_cast<std::size_t>(state_vectors(parse_optimizer(options.optimizer)));
  if (start.state.size() < vectors) throw Error("the checkpoint lacks optimizer state");
  TrainOptions before;
  for (const char* name : {"epochs", "seconds", "average"}) {
    const auto text = start.options.find(name);
    if (text != start.options.end()) find_train_option(name).set(before, text->second);
  }
  Progress& progress = start.progress;
  if (progress.averaged == 0 && start.state.size() > vectors) {  // saved by an older version
    progress.averaged = progress.epoch + before.average - before.epochs;
  }
  const bool same = before.epochs == options.epochs && before.seconds == options.seconds &&
                    before.average == options.average;
  if (same) return;
  if (options.seconds > 0) {
    check_time(options, progress);
  } else {
    check_epochs(options, progress);
  }
  start.state.resize(vectors);  // drops the sum of other epochs
  progress.averaged = 0;
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
                     ": there is no checkpoint to resume from: start a new run (a peer can get the "
                     "model of the other peers: evener worker --peers)");
  }
  options = with_earlier_recipe(options, found->options);
  check_same_shape(options, *found);
  check_average(options, *found);
  return std::move(*found);
}

std::optional<TrainResult> finished_run(const TrainOptions& options, const Checkpoint& start) {
  const bool early = stops_early(options, start.progress);
  const bool done = options.seconds > 0 ? start.progress.training_seconds >= options.seconds
                                        : start.progress.epoch >= options.epochs;
  if (!done && !early) return std::nullopt;
  const auto records = last_records(options.resume + "/metrics.jsonl");
  const auto end = records.find("end");
  const std::string how = end == records.end() ? "" : end->second.value("ended", "");
  const bool ended = how == "epochs" || how == "seconds" || how == "early stop";
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
