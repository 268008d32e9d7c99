#include "evener/run/train.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "evener/core/counted.h"
#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/data/names.h"
#include "evener/run/cluster_job.h"
#include "evener/run/config.h"
#include "evener/run/data.h"
#include "evener/run/device_trials.h"
#include "evener/run/recipe.h"
#include "evener/run/run_directory.h"
#include "evener/run/run_info.h"
#include "evener/run/session.h"
#include "evener/run/start.h"
#include "evener/run/trainer.h"

namespace evener {

namespace {

namespace fs = std::filesystem;

// Kept beside the options in a checkpoint: a run can only go on with the data it began with.
constexpr const char* kRowsKey = "data rows";
// The same for time: virtual and real seconds do not mix.
constexpr const char* kVirtualKey = "virtual time";

// Of a simulation: those of the cluster file's devices that auto has left, by number.
constexpr const char* kUsedKey = "virtual devices";

/// Devices that come later cannot be tried.
bool tries_out(const TrainOptions& options, const RunContext& context, std::size_t devices) {
  if (options.strategy != "auto" || devices < 2 || context.nodes) return false;
  if (!context.virtual_time) return true;
  const auto& models = context.virtual_time->devices;
  return std::all_of(models.begin(), models.end(),
                     [](const DeviceModel& model) { return model.joins_at == 0; });
}

/// Leaves setup and options the devices that are best, and the time it took in the run's.
DeviceChoice use_best_devices(EngineSetup& setup, TrainOptions& options, Checkpoint& start) {
  DeviceChoice choice = choose_devices(setup, start.model.parameters);
  if (!setup.virtual_time) {
    std::vector<std::string> names;
    for (const auto& device : setup.devices) names.push_back(device->name());
    keep_devices(options, names, choice.devices);
  }
  options.strategy = choice.strategy;
  setup = checked(with_only(std::move(setup), choice.devices, choice.strategy));
  start.progress.seconds += choice.seconds;
  return choice;
}

/// Of a simulation that goes on as it began, the devices that it was left with.
std::string keep_used(VirtualTimeOptions& time, const TrainOptions& options,
                      const Checkpoint& start) {
  const auto used = start.options.find(kUsedKey);
  if (used == start.options.end() || options.strategy != start.options.at("strategy")) return "";
  std::vector<DeviceModel> kept;
  std::istringstream numbers(used->second);
  for (std::size_t i = 0; numbers >> i;) {
    if (i < time.devices.size()) kept.push_back(time.devices[i]);
  }
  if (!kept.empty()) time.devices = std::move(kept);
  return used->second;
}

Checkpoint fresh_start(const TrainOptions& options, const TrainingData& data, Reporter& reporter) {
  Checkpoint start;
  Model& model = start.model;
  model.network = network_of(options, data.train);
  model.raw_features = data.raw_features;
  model.transform = data.transform;
  model.label_names = data.train.label_names;
  if (model.label_names.empty()) {
    std::string warning;
    model.label_names =
        find_names(label_names_path(options.data), data.train.label_count, &warning);
    if (!warning.empty()) reporter.warn(warning);
  }
  model.inverse_propensity = data.inverse_propensity;
  model.parameters = initial_parameters(model.network, options, data);
  const std::size_t size = model.parameters.size();
  const int vectors = state_vectors(parse_optimizer(options.optimizer));
  for (int i = 0; i < vectors; ++i) start.state.emplace_back(size);
  return start;
}

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

void check_same_time(const TrainOptions& options, const Checkpoint& start, bool is_virtual) {
  const bool was_virtual = is_simulation(start.options);
  if (was_virtual == is_virtual) return;
  throw UsageError(fmt::format("--resume {}: that run was {}: go on with evener {}", options.resume,
                               was_virtual ? "a simulation" : "not a simulation",
                               was_virtual ? "simulate" : "train"));
}

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

/// The average of the last epochs is summed up as they pass, so the window cannot move once it has
/// begun.
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
  start.state.resize(vectors);  // a sum of other epochs
}

Checkpoint resumed_start(TrainOptions& options, const RunDirectory& directory, Reporter& reporter) {
  auto found = load_checkpoint(directory.checkpoints(),
                               [&](const std::string& text) { reporter.warn(text); });
  if (!found) throw UsageError(options.resume + ": there is no checkpoint to resume from");
  options = with_earlier_recipe(options, found->options);
  check_same_shape(options, *found);
  check_average(options, *found);
  return std::move(*found);
}

/// The result of a run that has come to its end and has nothing left to do. A checkpoint of the
/// last epoch alone does not say so: what follows it may have been cut off.
std::optional<TrainResult> finished_run(const TrainOptions& options, const Checkpoint& start,
                                        const RunDirectory& directory) {
  const bool early = stops_early(options, start.progress);
  if (start.progress.epoch < options.epochs && !early) return std::nullopt;
  const auto records = last_records(directory.metrics());
  const auto end = records.find("end");
  const std::string how = end == records.end() ? "" : end->second.value("ended", "");
  const bool ended = how == "epochs" || how == "early stop";
  if (!ended || !fs::exists(directory.last_model())) return std::nullopt;
  TrainResult result;
  result.was_complete = true;
  result.directory = directory.path();
  result.ended = how;
  result.progress = start.progress;
  result.metrics = metrics_in(end->second);
  result.metrics_epoch = start.progress.epoch;
  if (start.progress.best_epoch > 0) result.best_by = deciding_metric(options);
  if (const auto epoch = records.find("epoch"); epoch != records.end()) {
    result.train_loss = epoch->second.value("train_loss", 0.0);
  }
  result.virtual_time = is_simulation(start.options);
  result.strategy = strategy_of(options);
  return result;
}

/// Relative paths would lead elsewhere when the run is resumed from another folder.
TrainOptions with_absolute_paths(TrainOptions options) {
  for (std::string* path : {&options.data, &options.test, &options.cache_dir}) {
    if (!path->empty()) *path = fs::absolute(*path).lexically_normal().string();
  }
  return options;
}

/// Named after the data: its file, or its folder where the file is just called "train".
std::string default_directory(const std::string& data) {
  const fs::path path = fs::absolute(data).lexically_normal();
  std::string name = path.filename().string();
  name = name.substr(0, name.find('.'));
  if ((name.empty() || name == "train") && path.has_parent_path()) {
    name = path.parent_path().filename().string();
  }
  return default_run_directory(name, std::time(nullptr));
}

void refuse_existing_run(const std::string& path) {
  if (!fs::exists(path + "/config.toml") || never_trained(path)) return;
  const fs::path checkpoints = path + "/checkpoints";
  const bool resumable = fs::is_directory(checkpoints) && !fs::is_empty(checkpoints);
  throw UsageError(path + (resumable
                               ? ": holds a run already; go on with it by --resume " + path +
                                     ", or choose another directory"
                               : ": holds a run that ended before its first checkpoint; remove "
                                 "it, or choose another directory"));
}

/// `evener train FOLDER` trains on its train.* and evaluates on its test.*, if it has one.
void use_folder(TrainOptions& options) {
  const std::string folder = options.data;
  if (!fs::is_directory(folder)) return;
  options.data = data_file(folder, "train");
  if (options.data.empty()) throw UsageError(folder + ": is a folder without a train.* file");
  if (options.test.empty() && options.validation_share == 0) {
    options.test = data_file(folder, "test");
  }
}

/// What a run was trained on is in its config.toml, and need not be on the machine that goes on.
RunDevices devices_of_run(const TrainOptions& options, const DeviceSurroundings& surroundings) {
  if (options.resume.empty()) return open_devices(options, surroundings);
  try {
    return open_devices(options, surroundings);
  } catch (const UsageError& problem) {
    throw UsageError(fmt::format("{} (to resume on --devices {}; name others with --devices)",
                                 problem.what(), options.devices));
  }
}

}  // namespace

TrainOptions resolve_options(const OptionTexts& given, const std::string& config) {
  const OptionTexts from_file = config.empty() ? OptionTexts{} : read_config(config);
  std::string resume;
  for (const auto* texts : {&from_file, &given}) {
    if (const auto found = texts->find("resume"); found != texts->end()) resume = found->second;
  }
  TrainOptions options;
  if (!resume.empty()) {
    const std::string path = resume + "/config.toml";
    if (!fs::exists(path)) throw UsageError(resume + ": is not a run directory (no config.toml)");
    apply_option_texts(read_config(path), options);
  }
  apply_option_texts(from_file, options);
  apply_option_texts(given, options);
  if (options.data.empty()) throw UsageError("no training data given: name a file or a folder");
  use_folder(options);
  if (!resume.empty() && !options.output.empty()) {
    throw UsageError("--resume goes on in the same run directory: leave -o out");
  }
  check_options(options);
  return options;
}

bool is_simulation(const OptionTexts& checkpoint_options) {
  return checkpoint_options.count(kVirtualKey) > 0;
}

std::vector<WorkerResult> worker_results(const Timeline& timeline, double seconds) {
  const double total = std::max(seconds, 1e-9);
  std::vector<WorkerResult> results;
  for (std::size_t i = 0; i < timeline.names().size(); ++i) {
    const WorkerTotals& totals = timeline.totals()[i];
    const auto tasks = static_cast<double>(std::max<std::uint64_t>(totals.tasks, 1));
    results.push_back({timeline.names()[i], totals.tasks, totals.updates, totals.rows,
                       totals.last_batch, totals.compute / total, totals.transfer / total,
                       totals.staleness_sum / tasks, totals.bytes, totals.rejected, totals.lost,
                       totals.staleness_counts});
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
    DeviceSurroundings surroundings = context.devices;
    surroundings.say = [&](const std::string& line) { reporter.say(line); };
    devices = devices_of_run(options, surroundings);
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
    start = resumed_start(options, *directory, reporter);
    check_same_time(options, *start, context.virtual_time.has_value());
    if (auto finished = finished_run(options, *start, *directory)) return *finished;
  } else if (!options.output.empty()) {
    refuse_existing_run(options.output);
  }
  const bool tries_devices = tries_out(options, context, devices.count());
  std::string used;  // those of the simulated devices that trials have left
  if (resumes && devices.virtual_time) used = keep_used(*devices.virtual_time, options, *start);
  options.strategy =
      context.nodes ? strategy_for_nodes(options) : strategy_for(options, devices.count());
  check_options(options);
  EngineSetup setup = engine_setup(options, std::move(devices));
  setup.workforce = context.nodes;
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
    if (tries_devices) {
      const DeviceChoice choice = use_best_devices(setup, options, *start);
      notes.insert(notes.end(), choice.notes.begin(), choice.notes.end());
      used = fmt::format("{}", fmt::join(choice.devices, " "));
    }
    directory.emplace(options.output.empty() ? make_free_directory(default_directory(options.data))
                                             : options.output,
                      RunDirectory::Open::fresh);
  }
  start->options = option_texts(with_absolute_paths(options));
  start->options[kRowsKey] = std::to_string(data.row_count());
  if (context.virtual_time) {
    start->options[kVirtualKey] = "yes";
    if (!used.empty()) start->options[kUsedKey] = used;
  }
  const std::string config = config_text(with_absolute_paths(options));
  write_atomically(directory->config(), std::as_bytes(std::span(config)));
  reporter.open(*directory);
  for (const auto& note : notes) {
    reporter.say(note);
    reporter.record({"note", start->progress.step, start->progress.seconds, {{"text", note}}});
  }
  if (context.nodes) {
    const std::size_t batch = batch_of_node(setup);
    context.nodes->offer({option_texts(with_absolute_paths(options)), print_of(data), batch});
  }
  std::optional<Trainer> trainer;
  try {
    trainer.emplace(options, context, reporter, *directory, std::move(setup), std::move(data),
                    std::move(*start));
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
