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

class Checkpointing {
 public:
  /// `start` holds the initial model.
  Checkpointing(const CheckpointingOptions& options, Backend& backend, Checkpoint start);

  /// Writes config.toml; later checkpoints hold these options.
  void write_options(const TrainOptions& options);
  /// Hands the vectors to the backend.
  void start_backend(const TrainOptions& options, const TrainingData& data);

  bool writes() const { return options_.directory != nullptr; }
  /// Saves the backend's state as the newest checkpoint. DivergedError if a parameter is not
  /// finite.
  void save(double seconds, std::uint32_t keep);
  void save_best();
  void save_last();

  // --average: the sum is the last vector of the state.
  void add_to_average(std::size_t optimizer_vectors);
  bool has_average(std::size_t optimizer_vectors) const;
  /// Replaces the parameters by the mean over this many epochs.
  void use_average(std::uint64_t epochs);

  Progress& progress() { return current_.progress; }
  const Progress& progress() const { return current_.progress; }
  const Network& network() const { return current_.model.network; }
  std::optional<Model> take_last() { return std::move(last_); }
  std::optional<Model> take_best() { return std::move(best_); }

 private:
  void keep_model(const std::string& path, std::optional<Model>& copy);

  CheckpointingOptions options_;
  Backend& backend_;
  Checkpoint current_;  // without vectors, which the backend has, except the sum for --average
  std::optional<Model> last_, best_;
};

}  // namespace evener
