#include "evener/run/session/train.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/run/artifacts/run_directory.h"
#include "evener/run/options/config.h"
#include "evener/run/options/recipe.h"
#include "evener/run/session/cluster_job.h"
#include "evener/run/session/data.h"
#include "evener/run/session/fresh.h"
#include "evener/run/session/resume.h"
#include "evener/run/session/session.h"
#include "evener/run/session/start.h"
#include "evener/run/session/trainer.h"

namespace evener {

namespace {

namespace fs = std::filesystem;

/// Devices that come later cannot be tried.
bool tries_out(const TrainOptions& options, const RunContext& context, std::size_t devices) {
  if (options.strategy != "auto" || devices < 2 || context.nodes) return false;
  if (!context.virtual_time) return true;
  const auto& models = context.virtual_time->devices;
  return std::all_of(models.begin(), models.end(),
                     [](const DeviceModel& model) { return model.joins_at == 0; });
}

/// What a run was trained on is in its config.toml, and need not be on the machine that goes on.
RunDevices devices_of_run(const TrainOptions& options, const DeviceContext& context) {
  if (options.resume.empty()) return open_devices(options, context);
  try {
    return open_devices(options, context);
  } catch (const UsageError& problem) {
    throw UsageError(fmt::format("{} (to resume on --devices {}; name others with --devices)",
                                 problem.what(), options.devices));
  }
}

}  // namespace

std::vector<WorkerResult> worker_results(const Timeline& timeline, double seconds) {
  const double total = std::max(seconds, 1e-9);
  std::vector<WorkerResult> results;
  for (std::size_t i = 0; i < timeline.names().size(); ++i) {
    const WorkerTotals& totals = timeline.totals()[i];
    const auto tasks = static_cast<double>(std::max<std::uint64_t>(totals.tasks, 1));
    results.push_back({timeline.names()[i], totals.tasks, totals.updates, totals.rows,
                       totals.last_batch, totals.compute / total, totals.transfer / total,
                       totals.staleness_sum / tasks, totals.bytes, totals.rejected, totals.lost,
                       totals.staleness_counts, totals.exchanges, totals.came});
  }
  return results;
}

TrainResult train_session(const TrainOptions& given, const RunContext& context,
                          const std::vector<std::string>& first_notes) {
  TrainOptions options = given;
  Reporter reporter(context.reporter);
  const Warn warn = [&](const std::string& text) { reporter.warn(text); };
  const bool resumes = !options.resume.empty();
  RunDevices devices;
  if (context.virtual_time) {
    devices.virtual_time = context.virtual_time;
  } else {
    if (context.nodes && options.devices == "auto") options.devices = "cpu";
    DeviceContext device_context = context.devices;
    device_context.say = [&](const std::string& line) { reporter.say(line); };
    devices = devices_of_run(options, device_context);
    // So that the run goes on with these, whatever auto finds then.
    if (!devices.found.empty()) options.devices = devices.found;
  }
  std::vector<std::string> notes = first_notes;
  notes.insert(notes.end(), devices.notes.begin(), devices.notes.end());
  // Cheap refusals come before the data is read; a new run directory after, so that bad data leaves
  // none behind.
  std::optional<RunDirectory> directory;
  std::optional<Checkpoint> start;
  if (resumes) {
    directory.emplace(options.resume, RunDirectory::Open::resume);
    start = resumed_start(options, reporter);
    check_same_time(options, *start, context.virtual_time.has_value());
    check_same_place(options, *start, context.nodes != nullptr);
    if (auto finished = finished_run(options, *start, *directory)) return *finished;
  } else if (!options.output.empty()) {
    refuse_existing_run(options.output);
  }
  const bool tries_devices = tries_out(options, context, devices.count());
  std::string used;  // those of the simulated devices that trials have left
  if (resumes && devices.virtual_time) used = keep_used(*devices.virtual_time, options, *start);
  TrainOptions resolved = options;
  resolved.strategy =
      context.nodes ? strategy_for_nodes(options) : strategy_for(options, devices.count());
  check_options(resolved);
  if (!tries_devices) options.strategy = resolved.strategy;
  EngineSetup setup = engine_setup(resolved, std::move(devices));
  setup.remote_workers = context.nodes;
  setup = checked(std::move(setup));
  TrainingData data = open_training_data(options, context.cache_directory, warn);
  if (resumes) {
    check_same_data(options, data, *start);
  } else {
    options = with_recipe(options, data);
    start = fresh_start(options, data, reporter);
    // A model that a device cannot hold is refused here, before there is a directory.
    set_training(setup, options, data, start->model.network);
    setup = checked(std::move(setup));
    directory.emplace(options.output.empty() ? make_free_directory(default_directory(options.data))
                                             : options.output,
                      RunDirectory::Open::fresh);
  }
  const auto write_down = [&, rows = std::to_string(data.row_count())] {
    const std::string config = config_text(with_absolute_paths(options));
    write_atomically(directory->config(), std::as_bytes(std::span(config)));
    OptionTexts texts = option_texts(with_absolute_paths(options));
    texts[kRowsKey] = rows;
    if (context.virtual_time) texts[kVirtualKey] = "yes";
    if (context.nodes) texts[kClusterKey] = kNodesRun;
    if (!used.empty()) texts[kUsedKey] = used;
    return texts;
  };
  start->options = write_down();
  KeepChoice keep_choice;
  if (tries_devices) {
    std::vector<std::string> names;
    for (const auto& device : setup.devices) names.push_back(device->name());
    keep_choice = [&, names](const DeviceChoice& choice) {
      if (context.virtual_time) {
        used = fmt::format("{}", fmt::join(choice.devices, " "));
      } else {
        keep_devices(options, names, choice.devices);
      }
      options.strategy = choice.strategy;
      return write_down();
    };
  }
  reporter.open(*directory);
  for (const auto& note : notes) {
    reporter.say(note);
    reporter.record({"note", start->progress.step, start->progress.seconds, {{"text", note}}});
  }
  if (context.nodes) {
    const std::size_t batch = batch_of_node(setup);
    context.nodes->offer({option_texts(with_absolute_paths(options)), fingerprint_of(data), batch});
  }
  std::optional<Trainer> trainer;
  try {
    trainer.emplace(options, context, reporter, *directory, std::move(setup), std::move(data),
                    std::move(*start), std::move(keep_choice));
    TrainResult result = trainer->run();
    result.notes.insert(result.notes.begin(), notes.begin(), notes.end());
    return result;
  } catch (const std::exception& problem) {
    reporter.note(std::string("error: ") + problem.what());
    if (trainer) trainer->record_failure(problem.what());
    const bool diverged = dynamic_cast<const DivergedError*>(&problem) != nullptr;
    const bool saved = fs::exists(directory->checkpoints());
    if (diverged && saved) throw DivergedRun(problem.what(), directory->path());
    if (diverged || !context.nodes) throw;
    throw Error(problem.what() +
                (saved ? "; go on from the last checkpoint with --resume " + directory->path()
                       : std::string("; there is no checkpoint yet to go on from (see "
                                     "--checkpoint-every and --checkpoint-minutes)")));
  }
}

}  // namespace evener
