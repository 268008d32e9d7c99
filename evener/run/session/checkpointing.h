// What a session keeps: its config.toml, checkpoints, the best and the last model, and the sum for
// --average. Without a run directory the models stay in memory, if anything wants them.
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
  std::size_t rows = 0;  // that are trained on
};

class Checkpointing {
 public:
  /// `start` holds the model to begin with.
  Checkpointing(const CheckpointingOptions& options, Backend& backend, Checkpoint start);

  /// Into config.toml, and for all checkpoints from here on.
  void write_options(const TrainOptions& options);
  /// Hands the vectors to the backend.
  void start_backend(const TrainOptions& options, const TrainingData& data);

  bool writes() const { return options_.directory != nullptr; }
  /// The backend's state as the run's newest checkpoint. DivergedError where a parameter is not
  /// finite.
  void save(double seconds, std::uint32_t keep);
  void save_best();
  void save_last();

  // --average: the sum is the last vector of the state.
  void add_to_average(std::size_t optimizer_vectors);
  bool has_average(std::size_t optimizer_vectors) const;
  /// Replaces the parameters by the mean of so many epochs.
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
  Checkpoint current_;  // the backend has its vectors, but for the sum of the average
  std::optional<Model> last_, best_;
};

}  // namespace evener
