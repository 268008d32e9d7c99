// The saved state of a session: config.toml, checkpoints, the best and the last model, and the sum
// for --average. Without a run directory the models are kept in memory if the caller asks for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/artifacts/run_directory.h"
#include "evener/run/options/options.h"
#include "evener/run/session/backend.h"

namespace evener {

struct CheckpointingOptions {
  const RunDirectory* directory = nullptr;  // null: none
  bool returns_models = false;
  std::size_t rows = 0;  // training rows
};

/// Whether the end of epoch `epoch` (counted from 1) is one of the last `count`, in a run that ends
/// by time and has used `time_share` of it: it will train about epoch / time_share epochs.
bool is_among_last(std::uint64_t epoch, std::uint64_t count, double time_share);

class Checkpointing {
 public:
  /// `start` holds the initial model.
  Checkpointing(const CheckpointingOptions& options, Backend& backend, Checkpoint start);

  /// Writes config.toml; later checkpoints hold these options.
  void write_options(const TrainOptions& options);
  /// Hands the vectors to the backend.
  void start_backend(const TrainOptions& options, const TrainingData& data);
  /// Backend::prepare.
  bool prepare_backend() { return backend_.prepare(current_); }

  bool writes() const { return options_.directory != nullptr; }
  /// Error if the run directory was removed.
  void check_directory() const {
    if (writes()) options_.directory->check_present();
  }
  // Each returns why nothing could be written, or an empty text. The backend can train on after a
  // failure, and older files are kept.
  /// Saves the backend's state as the newest checkpoint. DivergedError if a parameter is not
  /// finite.
  std::string save(double seconds, std::uint32_t keep);
  /// After a failure the model is kept in memory for `save_kept_best`.
  std::string save_best();
  std::string save_kept_best();
  std::string save_last();

  // --average: the sum is the last vector of the state.
  void add_to_average(std::size_t optimizer_vectors);
  bool has_average(std::size_t optimizer_vectors) const;
  /// Replaces the parameters by the mean of those that were added. An early stop may end inside the
  /// window of --average, so they are counted.
  void use_average();

  Progress& progress() { return current_.progress; }
  const Progress& progress() const { return current_.progress; }
  const Network& network() const { return current_.model.network; }
  std::optional<Model> take_last() { return std::move(last_); }
  std::optional<Model> take_best() { return std::move(best_); }

 private:
  std::string keep_model(const std::string& path, std::optional<Model>& copy);

  CheckpointingOptions options_;
  Backend& backend_;
  Checkpoint current_;  // without vectors, which the backend has, except the sum for --average
  std::optional<Model> last_, best_;
  std::optional<Model> unsaved_best_;  // could not be written
};

}  // namespace evener
