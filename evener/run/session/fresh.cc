#include "evener/run/session/fresh.h"

#include <ctime>
#include <filesystem>

#include "evener/core/error.h"
#include "evener/data/names.h"
#include "evener/run/artifacts/run_directory.h"
#include "evener/run/artifacts/run_info.h"
#include "evener/run/session/start.h"

namespace evener {

namespace {
namespace fs = std::filesystem;
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

TrainOptions with_absolute_paths(TrainOptions options) {
  for (std::string* path : {&options.data, &options.test, &options.cache_dir}) {
    if (!path->empty()) *path = fs::absolute(*path).lexically_normal().string();
  }
  return options;
}

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
  const RunDirectory own(path, RunDirectory::Open::resume);  // Error: a process trains into it
  const fs::path checkpoints = path + "/checkpoints";
  const bool resumable = fs::is_directory(checkpoints) && !fs::is_empty(checkpoints);
  throw UsageError(path + (resumable
                               ? ": holds a run already; go on with it by --resume " + path +
                                     ", or choose another directory"
                               : ": holds a run that ended before its first checkpoint; remove "
                                 "it, or choose another directory"));
}

}  // namespace evener
