// evener info
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "evener/app/commands.h"
#include "evener/app/output.h"
#include "evener/core/error.h"
#include "evener/data/cache.h"
#include "evener/data/statistics.h"
#include "evener/run/evaluate.h"
#include "evener/run/model.h"
#include "evener/run/trained.h"

namespace evener {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct InfoOptions {
  std::string what;
  bool json = false;
};

Dataset open_data(const std::string& path) {
  if (is_cache(path)) return open_cache(path, true);
  ReadOptions read;
  read.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return read_dataset(path, read);
}

void show_data(const InfoOptions& options, const Environment& environment) {
  const Statistics statistics = statistics_of(open_data(options.what));
  if (!options.json) {
    print(describe(statistics, false, display_of(1, environment.display).width));
    return;
  }
  ordered_json json;
  for (const auto& [name, value] : figures(statistics)) {
    std::visit([&, key = name](const auto& number) { json[key] = number; }, value);
  }
  print(json.dump() + "\n");
}

ordered_json model_json(const std::string& path) {
  const Model model = load_model(path);
  const Network& network = model.network;
  const TransformOptions& transform = model.transform.options;
  return {{"model", path},
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
}

std::string text_of(const ordered_json& json) {
  std::string text;
  for (const auto& [name, value] : json.items()) {
    text += fmt::format("{:<20}{}\n", name,
                        value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

/// The last record of each kind in metrics.jsonl. Lines that are no JSON (a torn end) pass. An
/// "end" that a resumed run has left behind is none.
std::map<std::string, ordered_json> last_records(const std::string& path) {
  std::ifstream file(path);
  std::map<std::string, ordered_json> last;
  for (std::string line; std::getline(file, line);) {
    auto record = ordered_json::parse(line, nullptr, false);
    if (!record.is_object() || !record.contains("kind") || !record["kind"].is_string()) continue;
    const auto kind = record["kind"].get<std::string>();
    record.erase("kind");
    if (kind != "end") last.erase("end");
    last[kind] = std::move(record);
  }
  return last;
}

/// The metrics among an evaluation's fields; others are times and places.
Metrics metrics_in(const ordered_json& record) {
  Metrics metrics;
  for (const auto& [name, value] : record.items()) {
    const bool metric = name.find('@') != std::string::npos || name == "loss" || name == "auc" ||
                        name == "accuracy";
    if (metric && value.is_number()) metrics[name] = value.get<double>();
  }
  return metrics;
}

std::string run_text(const ordered_json& json) {
  std::string text = fmt::format("{:<20}{}\n", "run", json["run"].get<std::string>());
  if (json.contains("model")) text += text_of(json["model"]);
  if (json.contains("epoch")) text += "\nlast epoch\n" + text_of(json["epoch"]);
  if (json.contains("eval"))
    text += "\nlast evaluation\n" + metrics_table(metrics_in(json["eval"]));
  const std::string ended =
      json.contains("end") ? json["end"].value("ended", "?") : "going on, or killed";
  return text + fmt::format("\n{:<20}{}\n", "ended", ended);
}

void show_run(const InfoOptions& options) {
  ordered_json json{{"run", options.what}};
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
  print(options.json ? json.dump() + "\n" : run_text(json));
}

void run(const InfoOptions& options, const Environment& environment) {
  if (!fs::exists(options.what)) throw UsageError(options.what + ": there is no such file");
  if (is_run_directory(options.what)) return show_run(options);
  if (fs::is_directory(options.what)) {
    throw UsageError(options.what + ": is not a run directory (no config.toml)");
  }
  if (!is_model_file(options.what)) return show_data(options, environment);
  const ordered_json json = model_json(options.what);
  print(options.json ? json.dump() + "\n" : text_of(json));
}

}  // namespace

void add_info(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("info", "describe data, a model or a run");
  command->footer(
      "Examples:\n"
      "  evener info train.txt\n"
      "  evener info runs/first --json");
  auto options = std::make_shared<InfoOptions>();
  command->add_option("WHAT", options->what, "data file, model file or run directory")->required();
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options, &shell] { run(*options, shell.environment); });
}

}  // namespace evener
