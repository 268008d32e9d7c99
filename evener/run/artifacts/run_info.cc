#include "evener/run/artifacts/run_info.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/artifacts/run_kind.h"
#include "evener/run/options/config.h"

namespace evener {

namespace {

using nlohmann::ordered_json;

/// At its end from the start if this is not a regular file: opening a pipe would wait for its
/// writer.
std::ifstream open_regular(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(path, unknown) ? std::ifstream(path) : std::ifstream();
}

/// The names of the workers in a trace.json: they come first, one per line, as numbered threads
/// from 1 on.
std::vector<std::string> traced_devices(const std::string& path) {
  std::vector<std::string> names;
  std::ifstream file = open_regular(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    if (line.ends_with(',')) line.pop_back();
    const auto entry = ordered_json::parse(line, nullptr, false);
    if (!entry.is_object() || entry.value("ph", "") != "M") break;
    if (entry.value("name", "") != "thread_name" || entry.value("tid", 0) == 0) continue;
    const auto name = entry.value("/args/name"_json_pointer, std::string());
    names.push_back(name.substr(name.find(' ') + 1));
  }
  return names;
}

}  // namespace

RunInfo run_info(const std::string& directory) {
  TrainOptions options;
  apply_option_texts(read_config(directory + "/config.toml"), options);
  RunInfo info;
  info.virtual_time =
      run_kind(checkpoint_options(directory + "/checkpoints")) == RunKind::virtual_time;
  info.emulation = options.emulate;
  info.strategy = strategy_of(options);
  info.devices = traced_devices(directory + "/trace.json");
  if (info.devices.empty()) info.devices = {options.devices};
  return info;
}

std::map<std::string, ordered_json> last_records(const std::string& path) {
  std::ifstream file = open_regular(path);
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

Metrics metrics_in(const ordered_json& record) {
  Metrics metrics;
  for (const auto& [name, value] : record.items()) {
    const bool metric = name.find('@') != std::string::npos || name == "loss" || name == "auc" ||
                        name == "accuracy";
    if (metric && value.is_number()) metrics[name] = value.get<double>();
  }
  return metrics;
}

}  // namespace evener
