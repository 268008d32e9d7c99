#include "evener/app/commands/train_result.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "evener/app/shell/output.h"
#include "evener/app/shell/signals.h"
#include "evener/core/counted.h"
#include "evener/core/error.h"
#include "evener/policy/catalogue.h"
#include "evener/run/report/metric_text.h"

namespace evener {

namespace {

nlohmann::ordered_json result_json(const TrainResult& result) {
  const Progress& progress = result.progress;
  nlohmann::ordered_json json{{"run", result.directory},
                              {"ended", result.ended},
                              {"epochs", progress.epoch},
                              {"steps", progress.step},
                              {"seconds", progress.seconds},
                              {"training_seconds", progress.training_seconds},
                              {"samples_per_second", result.samples_per_second},
                              {"preparation_seconds", result.preparation_seconds},
                              {"train_loss", result.train_loss},
                              {"metrics", result.metrics}};
  if (!result.metrics.empty()) {
    json["metrics_epoch"] = result.metrics_epoch;
    json["metrics_are_final"] = result.metrics_are_final;
  }
  if (result.was_complete) json["was_complete"] = true;
  json["strategy"] = result.strategy;
  json["virtual_time"] = result.virtual_time;
  if (result.replica_distance) json["replica_distance"] = *result.replica_distance;
  for (const auto& worker : result.workers) {
    json["devices"].push_back({{"name", worker.name},
                               {"updates", worker.updates},
                               {"rows", worker.rows},
                               {"last_batch", worker.batch},
                               {"compute_share", worker.compute},
                               {"transfer_share", worker.transfer},
                               {"mean_staleness", worker.staleness},
                               {"bytes", worker.bytes},
                               {"rejected", worker.rejected},
                               {"exchanges", worker.exchanges},
                               {"lost", worker.lost},
                               {"staleness_counts", worker.staleness_counts}});
  }
  json["staleness_bounds"] = kStalenessBounds;  // the last count has no upper bound
  json["notes"] = result.notes;
  if (progress.best_epoch > 0) {
    json["best"] = {{"metric", result.best_by},
                    {"value", progress.best_metric},
                    {"epoch", progress.best_epoch}};
  }
  return json;
}

std::string how_it_ended(const TrainResult& result) {
  if (result.ended == "signal") return "interrupted";
  return result.ended == "early stop" ? "stopped early" : "finished";
}

std::string worker_table(const TrainResult& result) {
  std::string text = fmt::format("{:<10}{}\n", "strategy", result.strategy);
  std::size_t empty_slots = 0;
  for (std::size_t i = 0; i < result.workers.size(); ++i) {
    const WorkerResult& worker = result.workers[i];
    if (!worker.joined) {
      ++empty_slots;
      continue;
    }
    text +=
        fmt::format("{:<10}{} {}: {}, {}, last batch {}", "device", i, worker.name,
                    counted(worker.updates, "update"), counted(worker.rows, "row"), worker.batch);
    const double busy = worker.compute + worker.transfer;
    // A peer knows only its own times.
    if (busy > 0 || worker.updates == 0) text += fmt::format(", busy {:.0f} %", 100 * busy);
    if (worker.transfer > 0.005) text += fmt::format(" (copying {:.0f} %)", 100 * worker.transfer);
    if (worker.staleness > 0) text += fmt::format(", staleness {:.1f}", worker.staleness);
    if (worker.bytes > 0) {
      text += fmt::format(", {:.1f} MB moved", static_cast<double>(worker.bytes) / 1e6);
    }
    if (worker.rejected > 0) {
      const Sharing sharing = parse_strategy(result.strategy).strategy->sharing;
      text += fmt::format(", {} {}", worker.rejected, refusals_name(sharing));
    }
    if (worker.lost) text += ", lost";
    text += "\n";
  }
  if (empty_slots > 0)
    text += fmt::format("{:<10}{} without a worker\n", "", counted(empty_slots, "slot"));
  return text;
}

/// For a resumed run that was already complete.
std::string complete_text(const TrainResult& result, const TrainOptions& options,
                          const std::string& resume_with) {
  const std::uint64_t epochs = result.progress.epoch;
  const bool early = result.ended == "early stop";
  const std::string count = counted(epochs, "epoch");
  const bool by_time = !early && options.seconds > 0;
  const std::string done = early         ? "it stopped early, after " + count
                           : by_time     ? fmt::format("its {:g} seconds are used", options.seconds)
                           : epochs == 1 ? "its one epoch is done"
                                         : "all " + count + " are done";
  const std::string more = early     ? fmt::format("--patience {}", 2 * options.patience)
                           : by_time ? fmt::format("--seconds {:g}", 2 * options.seconds)
                                     : fmt::format("--epochs {}", 2 * epochs);
  return fmt::format(
      "{:<10}{}\n{:<10}already complete: {}; nothing was changed\n{:<10}to go on: {} {} {}\n",
      "run", result.directory, "", done, "", resume_with, result.directory, more);
}

std::string result_text(const TrainResult& result) {
  const Progress& progress = result.progress;
  const std::string time = result.virtual_time
                               ? fmt::format("{:.2f} s of virtual time", progress.seconds)
                               : format_duration(progress.seconds);
  std::string text = fmt::format("{:<10}{}\n{:<10}{} after {}, {}, {}\n", "run", result.directory,
                                 "", how_it_ended(result), counted(progress.epoch, "epoch"),
                                 counted(progress.step, "step"), time);
  if (result.samples_per_second > 0) {
    text += fmt::format("{:<10}{:.0f} rows/s{}\n", "speed", result.samples_per_second,
                        result.virtual_time ? " in virtual time" : "");
  }
  if (result.preparation_seconds > 0) {
    text += fmt::format("{:<10}preparation {:.1f} s, training {:.1f} s\n", "time",
                        result.preparation_seconds, result.step_seconds);
  }
  if (progress.best_epoch > 0) {
    text += fmt::format("{:<10}{} {} after epoch {}\n", "best", metric_title(result.best_by),
                        metric_text(result.best_by, progress.best_metric), progress.best_epoch);
  }
  if (result.workers.size() > 1) text += worker_table(result);
  if (result.replica_distance) {
    text += fmt::format("{:<10}{:.2g} % of the model apart\n", "replicas",
                        100 * *result.replica_distance);
  }
  if (!result.metrics.empty()) {
    text += result.metrics_are_final
                ? "final model:\n"
                : fmt::format("last evaluation (epoch {}):\n", result.metrics_epoch);
  }
  return text + metrics_table(result.metrics);
}

/// After a signal, a run does not wait for devices, workers and servers that do not answer. Bad
/// input and a disk that is full have nothing to do with it.
bool is_due_to_interrupt(const Error& error) {
  return dynamic_cast<const UsageError*>(&error) == nullptr &&
         dynamic_cast<const DataError*>(&error) == nullptr &&
         dynamic_cast<const SaveError*>(&error) == nullptr;
}

}  // namespace

RunContext run_context(const TrainOptions& options, const Shell& shell) {
  RunContext context;
  const Environment& environment = shell.environment;
  end_on_signals("evener: interrupted before training began; start again with the same command\n");
  context.cache = environment.cache;
  context.devices.automatic = [cpu = environment.automatic_device] { return find_devices(cpu); };
  context.devices.cache_directory = environment.cache.directory;
  context.reporter = {stderr, !options.quiet, environment.display};
  // The shortlist head has long work before there is anything to save.
  context.training_begins = [prepares = options.has_shortlist()] {
    catch_signals(prepares ? "evener: stopping; once more ends at once, without a checkpoint\n"
                           : "evener: stopping after a checkpoint; once more ends at once, without "
                             "one\n");
  };
  context.interrupted = caught_signal;
  return context;
}

TrainResult train_watched(const TrainOptions& options, Backend& backend, RunContext context,
                          const TrainingData* data) {
  context.main_steps = std::make_shared<MainSteps>();
  HangLimits limits;
  limits.stall.fixed = options.cluster.stall_timeout;
  const StepDeadline deadline(context.main_steps, limits);
  return data == nullptr ? train(options, backend, context)
                         : train(options, *data, backend, context);
}

void print_result(const TrainResult& result, const TrainOptions& options,
                  const std::string& resume_with, Shell& shell) {
  if (result.in_preparation && options.resume.empty()) {
    print_message(
        "evener: interrupted in the preparation: nothing is trained yet; start again "
        "with the same command");
    shell.exit_code = 128 + result.signal;
  } else if (result.signal != 0) {
    // Not wrapped: a command with line breaks in it cannot be copied.
    std::fprintf(stderr, "evener: interrupted; go on with: %s %s\n", resume_with.c_str(),
                 result.directory.c_str());
    shell.exit_code = 128 + result.signal;
  }
  if (options.json) return print(result_json(result).dump() + "\n");
  print_text(result.was_complete ? complete_text(result, options, resume_with)
                                 : result_text(result));
}

void train_and_print(const TrainOptions& options, Backend& backend, const std::string& resume_with,
                     Shell& shell, const std::vector<std::string>& notes,
                     const TrainingData* data) {
  RunContext context = run_context(options, shell);
  context.notes = notes;
  TrainResult result;
  try {
    result = train_watched(options, backend, std::move(context), data);
  } catch (const Error& error) {
    const int signal = caught_signal();
    if (signal == 0 || !is_due_to_interrupt(error)) throw;
    print_error(fmt::format("interrupted without a new checkpoint: {}", error.what()));
    shell.exit_code = 128 + signal;
    return;
  }
  print_result(result, options, resume_with, shell);
}

}  // namespace evener
