// evener info
#include <cmath>
#include <filesystem>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "evener/app/commands/commands.h"
#include "evener/app/shell/output.h"
#include "evener/core/error.h"
#include "evener/data/cache.h"
#include "evener/data/data_folder.h"
#include "evener/data/statistics.h"
#include "evener/retrieval/shortlist_head.h"
#include "evener/run/artifacts/model.h"
#include "evener/run/artifacts/model_path.h"
#include "evener/run/artifacts/run_info.h"
#include "evener/run/report/metric_text.h"

namespace evener {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct InfoOptions {
  std::string what;
  bool json = false;
};

Statistics read_statistics(const std::string& path) {
  ReadOptions read;
  read.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const Dataset data = is_cache(path) ? open_cache(path) : read_dataset(path, read);
  Statistics statistics = statistics_of(data);
  check_intact(data);
  return statistics;
}

ordered_json figures_json(const Statistics& statistics) {
  ordered_json json;
  for (const auto& [name, value] : figures(statistics)) {
    std::visit([&, key = name](const auto& number) { json[key] = number; }, value);
  }
  return json;
}

void show_data(const InfoOptions& options, const Environment& environment) {
  const Statistics statistics = read_statistics(options.what);
  if (options.json) return print(figures_json(statistics).dump() + "\n");
  print_text(describe(statistics, false, display_of(1, environment.display).width));
}

/// The training and test data of a folder, or the only one of them.
void show_folder(const InfoOptions& options, const Environment& environment) {
  ordered_json json;
  std::string text;
  for (const char* part : {"train", "test"}) {
    const std::string path = data_file(options.what, part);
    if (path.empty()) continue;
    const Statistics statistics = read_statistics(path);
    json[part] = figures_json(statistics);
    json[part]["file"] = path;
    text += fmt::format("{}{}\n\n{}", text.empty() ? "" : "\n", path,
                        describe(statistics, false, display_of(1, environment.display).width));
  }
  if (text.empty()) {
    throw UsageError(options.what +
                     ": is neither a run directory (no config.toml) nor a folder of data (no "
                     "train.* or test.*)");
  }
  if (options.json) return print(json.dump() + "\n");
  print_text(text);
}

ordered_json model_json(const std::string& path) {
  const Model model = load_model(path);
  const Network& network = model.network;
  const TransformOptions& transform = model.transform.options;
  ordered_json json{{"model", path},
                    {"head", model.shortlist ? "shortlist" : "full"},
                    {"features", network.features},
                    {"hidden", network.hidden},
                    {"labels", network.labels},
                    {"activation", to_string(network.activation)},
                    {"loss", to_string(network.loss)},
                    {"input", to_string(network.input)},
                    {"parameters", layout_of(network).parameters()},
                    {"raw_features", model.raw_features},
                    {"hash_features", transform.hash_features},
                    {"tfidf", transform.tfidf},
                    {"normalise", transform.normalise},
                    {"label_names", !model.label_names.empty()}};
  if (model.shortlist) {
    const RetrievalModel& retrieval = model.shortlist->retriever->model();
    json["indexed_rows"] = retrieval.rows.offsets.size() - 1;  // training rows in the file
    json["indexed_values"] = retrieval.rows.indices.size();
    json["linear_weights"] = model.shortlist->wide.values.size();
  }
  return json;
}

/// At least four significant digits, and every digit before the decimal point.
std::string number_text(double value) {
  return std::abs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string value_text(const ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  return value.is_number_float() ? number_text(value.get<double>()) : value.dump();
}

std::string line_text(const std::string& name, const std::string& value) {
  return fmt::format("{:<20}{}\n", name, value);
}

std::string text_of(const ordered_json& json) {
  std::string text;
  for (const auto& [name, value] : json.items()) text += line_text(name, value_text(value));
  return text;
}

/// How the run was trained: devices, emulation, strategy, and real or virtual time.
std::string trainers_text(const RunInfo& info) {
  std::string text = line_text(info.devices.size() == 1 ? "device" : "devices",
                               fmt::format("{}", fmt::join(info.devices, " + ")));
  if (!info.emulation.empty()) text += line_text("slowed down", info.emulation);
  return text + line_text("strategy", info.strategy) +
         line_text("time", info.virtual_time ? "virtual, of simulated devices" : "real");
}

std::string how_it_ended(const ordered_json& json) {
  if (!json.contains("end")) return "going on, or killed";
  const ordered_json& end = json["end"];
  const std::string why = end.value("why", "");
  return end.value("ended", "?") + (why.empty() ? "" : ": " + why);
}

std::string run_text(const ordered_json& json, const RunInfo& info) {
  std::string text = line_text("run", json["run"].get<std::string>()) + trainers_text(info);
  if (json.contains("model")) text += text_of(json["model"]);
  if (json.contains("epoch")) text += "\nlast epoch\n" + text_of(json["epoch"]);
  if (json.contains("eval"))
    text += "\nlast evaluation\n" + metrics_table(metrics_in(json["eval"]));
  return text + "\n" + line_text("ended", how_it_ended(json));
}

void show_run(const InfoOptions& options) {
  const RunInfo info = run_info(options.what);
  ordered_json json{{"run", options.what},
                    {"devices", info.devices},
                    {"emulate", info.emulation},
                    {"strategy", info.strategy},
                    {"virtual_time", info.virtual_time}};
  for (const char* name : {"/best.safetensors", "/last.safetensors"}) {
    if (!fs::exists(options.what + name)) continue;
    json["model"] = model_json(options.what + name);
    break;
  }
  const std::string path = options.what + "/metrics.jsonl";
  const auto last = last_records(path);
  for (const char* kind : {"epoch", "eval", "end"}) {
    if (const auto found = last.find(kind); found != last.end()) json[kind] = found->second;
  }
  if (options.json) return print(json.dump() + "\n");
  print_text(run_text(json, info));
}

void run_info(const InfoOptions& options, const Environment& environment) {
  if (!fs::exists(options.what)) throw UsageError(options.what + ": there is no such file");
  if (is_run_directory(options.what)) return show_run(options);
  if (fs::is_directory(options.what)) return show_folder(options, environment);
  if (!is_model_file(options.what)) return show_data(options, environment);
  const ordered_json json = model_json(options.what);
  if (options.json) return print(json.dump() + "\n");
  print_text(text_of(json));
}

}  // namespace

void add_info(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("info", "describe data, a model or a run");
  command->footer(
      "Examples:\n"
      "  evener info train.txt\n"
      "  evener info data/debian-tags\n"
      "  evener info runs/first --json");
  auto options = std::make_shared<InfoOptions>();
  command
      ->add_option("WHAT", options->what, "data file, folder of data, model file or run directory")
      ->required();
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options, &shell] { run_info(*options, shell.environment); });
}

}  // namespace evener
