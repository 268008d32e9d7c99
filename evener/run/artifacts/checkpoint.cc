#include "evener/run/artifacts/checkpoint.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "evener/core/counted.h"
#include "evener/core/error.h"

namespace evener {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kStateFile = "state.safetensors";
constexpr const char* kStateFormat = "2";
constexpr std::size_t kMaxStates = 8;
constexpr std::size_t kMaxStateMetadata = std::size_t{1} << 20;  // bytes of one JSON text
constexpr std::string_view kTemporary = ".tmp-";                 // anything so named may be removed
constexpr std::string_view kStep = "step-";
// When a step is saved again, the old checkpoint has this suffix until the new one has its name.
constexpr std::string_view kBackup = ".old";

[[noreturn]] void fail(const fs::path& path, const char* what, int error) {
  throw Error(path.string() + ": " + what + ": " + std::strerror(error));
}

void sync_directory(const fs::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail(path, "cannot open", errno);
  // EINVAL: the file system cannot sync directories.
  const int error = fsync(descriptor) != 0 && errno != EINVAL ? errno : 0;
  close(descriptor);
  if (error != 0) fail(path, "cannot sync", error);
}

void rename_directory(const fs::path& from, const fs::path& to) {
  if (rename(from.c_str(), to.c_str()) != 0) fail(to, "cannot rename its temporary", errno);
}

struct StoredCheckpoint {
  std::uint64_t step = 0;
  bool is_backup = false;
  fs::path path;
};

std::optional<StoredCheckpoint> parse_path(const fs::path& path) {
  const std::string name = path.filename().string();
  std::string_view digits = name;
  if (digits.substr(0, kStep.size()) != kStep) return std::nullopt;
  digits.remove_prefix(kStep.size());
  StoredCheckpoint entry{0, false, path};
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, entry.step);
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  entry.is_backup = suffix == kBackup;
  if (error != std::errc() || (!suffix.empty() && !entry.is_backup)) return std::nullopt;
  return entry;
}

/// The whole list is read before the directory is changed. A missing directory gives an empty list.
std::vector<fs::path> list(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    paths.push_back(it->path());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    fail(directory, "cannot list", error.value());
  }
  return paths;
}

/// Newest first; for the same step, the backup last.
std::vector<StoredCheckpoint> list_stored(const fs::path& directory) {
  std::vector<StoredCheckpoint> stored;
  for (const fs::path& path : list(directory)) {
    if (auto entry = parse_path(path)) stored.push_back(std::move(*entry));
  }
  std::sort(stored.begin(), stored.end(), [](const StoredCheckpoint& a, const StoredCheckpoint& b) {
    return a.step != b.step ? a.step > b.step : a.is_backup < b.is_backup;
  });
  return stored;
}

/// Renames the directory to a temporary name first, so that a partly removed checkpoint is never
/// loaded.
void remove_stored(const StoredCheckpoint& entry) {
  const fs::path temporary =
      entry.path.parent_path() / (std::string(kTemporary) + entry.path.filename().string());
  std::error_code ignored;  // the next save removes leftovers
  fs::rename(entry.path, temporary, ignored);
  if (!ignored) fs::remove_all(temporary, ignored);
}

void remove_leftovers(const fs::path& directory) {
  std::error_code ignored;  // a leftover does no harm
  for (const fs::path& path : list(directory)) {
    const std::string name = path.filename().string();
    if (name.compare(0, kTemporary.size(), kTemporary) == 0) fs::remove_all(path, ignored);
  }
}

// As text, because JSON has no infinity or NaN, and a metric or a loss can be either.
std::string exact(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

double exact_from(const json& value) {
  const auto& text = value.get_ref<const std::string&>();
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) {
    throw json::other_error::create(501, "'" + text + "' is not a number", &value);
  }
  return number;
}

json progress_json(const Progress& progress) {
  return {{"step", progress.step},
          {"epoch", progress.epoch},
          {"next_row", progress.next_row},
          {"train_loss_sum", exact(progress.train_loss_sum)},
          {"worker_steps", progress.worker_steps},
          {"best_metric", exact(progress.best_metric)},
          {"best_epoch", progress.best_epoch},
          {"epochs_since_best", progress.epochs_since_best},
          {"seconds", exact(progress.seconds)},
          {"training_seconds", exact(progress.training_seconds)},
          {"averaged", progress.averaged}};
}

Progress progress_from(const json& j) {
  Progress progress;
  progress.step = j.at("step").get<std::uint64_t>();
  progress.epoch = j.at("epoch").get<std::uint64_t>();
  progress.next_row = j.at("next_row").get<std::uint64_t>();
  progress.train_loss_sum = exact_from(j.at("train_loss_sum"));
  progress.worker_steps = j.value("worker_steps", progress.worker_steps);
  progress.best_metric = exact_from(j.at("best_metric"));
  progress.best_epoch = j.at("best_epoch").get<std::uint64_t>();
  progress.epochs_since_best = j.at("epochs_since_best").get<std::uint64_t>();
  progress.seconds = exact_from(j.at("seconds"));
  // Older versions saved neither of these two.
  progress.training_seconds =
      j.contains("training_seconds") ? exact_from(j.at("training_seconds")) : progress.seconds;
  progress.averaged = j.value("averaged", progress.averaged);
  return progress;
}

std::string state_prefix(std::size_t index) {
  return "state" + std::to_string(index) + ".";
}
std::string kept_prefix(const std::string& name) {
  return "kept." + name + ".";
}

void save_state(const Checkpoint& checkpoint, const std::string& path) {
  const Layout layout = layout_of(checkpoint.model.network);
  std::vector<TensorView> tensors;
  for (std::size_t i = 0; i < checkpoint.state.size(); ++i) {
    add_segments(layout, checkpoint.state[i], state_prefix(i), tensors);
  }
  std::vector<std::string> kept;
  for (const auto& [name, values] : checkpoint.kept) {
    add_segments(layout, values, kept_prefix(name), tensors);
    kept.push_back(name);
  }
  const auto replace = json::error_handler_t::replace;
  write_tensors(path, tensors,
                {{"evener.state_format", kStateFormat},
                 {"evener.states", std::to_string(checkpoint.state.size())},
                 {"evener.kept", json(kept).dump()},
                 {"evener.progress", progress_json(checkpoint.progress).dump()},
                 {"evener.options", json(checkpoint.options).dump(-1, ' ', false, replace)}});
}

void load_state(const std::string& path, Checkpoint& checkpoint) {
  const TensorFile file(path);
  const auto text = [&](const std::string& key) -> const std::string& {
    const auto found = file.metadata().find(key);
    if (found == file.metadata().end() || found->second.size() > kMaxStateMetadata) {
      throw Error(path + ": metadata '" + key + "' is missing or too long");
    }
    return found->second;
  };
  if (text("evener.state_format") != kStateFormat || !file.checksummed()) {
    throw Error(path + ": is not a training state that this program reads");
  }
  std::size_t states = 0;
  std::vector<std::string> kept;
  try {
    states = json::parse(text("evener.states")).get<std::size_t>();
    kept = json::parse(text("evener.kept")).get<std::vector<std::string>>();
    checkpoint.progress = progress_from(json::parse(text("evener.progress")));
    checkpoint.options = json::parse(text("evener.options")).get<decltype(checkpoint.options)>();
  } catch (const json::exception& error) {
    throw Error(path + ": metadata: " + error.what());
  }
  if (states > kMaxStates) throw Error(path + ": too many state vectors");
  const Layout layout = layout_of(checkpoint.model.network);
  for (std::size_t i = 0; i < states; ++i) {
    checkpoint.state.push_back(read_segments(file, layout, state_prefix(i)));
  }
  for (const auto& name : kept) {
    checkpoint.kept[name] = read_segments(file, layout, kept_prefix(name));
  }
}

Checkpoint load_stored(const StoredCheckpoint& entry) {
  Checkpoint checkpoint;
  checkpoint.model = load_model(entry.path / kModelFile);
  load_state(entry.path / kStateFile, checkpoint);
  if (checkpoint.progress.step != entry.step) {
    throw Error(fmt::format("{}: is of step {}", entry.path.string(), checkpoint.progress.step));
  }
  return checkpoint;
}

}  // namespace

void save_checkpoint(const Checkpoint& checkpoint, const std::string& directory, int keep) {
  const fs::path parent = directory;
  std::error_code error;
  // Not its parents: a run directory that was removed must not appear again.
  if (fs::create_directory(parent, error)) sync_directory(fs::absolute(parent).parent_path());
  if (error) fail(parent, "cannot create", error.value());
  remove_leftovers(parent);

  const std::string name = fmt::format("{}{:08}", kStep, checkpoint.progress.step);
  const fs::path temporary = parent / (std::string(kTemporary) + name);
  const fs::path target = parent / name;
  const fs::path backup = parent / (name + std::string(kBackup));
  try {
    if (!fs::create_directory(temporary, error)) fail(temporary, "cannot create", error.value());
    save_model(checkpoint.model, temporary / kModelFile);
    save_state(checkpoint, temporary / kStateFile);
    sync_directory(temporary);
    if (fs::exists(target, error)) {
      remove_stored({checkpoint.progress.step, true, backup});
      rename_directory(target, backup);
    }
    rename_directory(temporary, target);
    sync_directory(parent);
  } catch (...) {
    fs::remove_all(temporary, error);
    throw;
  }

  int kept = 0;
  for (const StoredCheckpoint& entry : list_stored(parent)) {
    const bool stale = entry.is_backup || entry.step > checkpoint.progress.step;
    if (stale || ++kept > std::max(keep, 1)) remove_stored(entry);
  }
}

std::optional<Checkpoint> load_checkpoint(const std::string& directory,
                                          const std::function<void(const std::string&)>& warn) {
  const std::vector<StoredCheckpoint> stored = list_stored(directory);
  std::string last;
  for (const StoredCheckpoint& entry : stored) {
    try {
      return load_stored(entry);
    } catch (const Error& error) {
      last = error.what();
      if (warn) warn("checkpoint skipped: " + last);
    }
  }
  if (stored.empty()) return std::nullopt;
  throw Error(fmt::format("{}: none of {} can be loaded; the last one: {}", directory,
                          counted(stored.size(), "checkpoint"), last));
}

std::map<std::string, std::string> checkpoint_options(const std::string& directory) {
  for (const StoredCheckpoint& entry : list_stored(directory)) {
    try {
      const TensorFile file(entry.path / kStateFile);
      return json::parse(file.metadata().at("evener.options"))
          .get<std::map<std::string, std::string>>();
    } catch (const std::exception&) {  // damaged: use an older one
    }
  }
  return {};
}

}  // namespace evener
