// Checkpoints that survive a kill at any moment: everything an exact resume needs, or nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evener/run/artifacts/model.h"

namespace evener {

/// The progress of a run. With the data, the options and the seed it determines the rest of the
/// run.
struct Progress {
  std::uint64_t step = 0;      // updates done
  std::uint64_t epoch = 0;     // epochs completed
  std::uint64_t next_row = 0;  // position in the current epoch's order
  double train_loss_sum = 0;   // over the current epoch so far, weighted by rows
  double best_metric = 0;
  std::uint64_t best_epoch = 0;
  std::uint64_t epochs_since_best = 0;
  double seconds = 0;                       // so far, over all sessions
  double training_seconds = 0;              // part of it spent in training, for --seconds
  std::uint64_t averaged = 0;               // summands of --average so far
  std::vector<std::uint64_t> worker_steps;  // by each worker
};

struct Checkpoint {
  Model model;
  std::vector<FloatBuffer> state;  // the optimizer's vectors, in the network's layout
  // Other vectors that the strategy needs for an exact resume, by name (Models::keep), in the same
  // layout.
  std::map<std::string, FloatBuffer> kept;
  Progress progress;
  std::map<std::string, std::string> options;  // the resolved options of the run, as text
};

/// Writes DIRECTORY/step-NNNNNNNN (model.safetensors, a model like any other, and
/// state.safetensors) as: temporary directory, files with checksums, fsync, rename, fsync of the
/// parent; then removes all but the newest `keep`. Checkpoints of later steps were damaged when the
/// run resumed, and are removed too. Before the new checkpoint is complete, only leftovers of
/// killed writers are removed. A directory has one writer.
void save_checkpoint(const Checkpoint& checkpoint, const std::string& directory, int keep = 2);

/// The newest checkpoint that verifies. Damaged ones are skipped and reported through `warn`, with
/// the name of the tensor. nullopt if there is none; throws Error if all are damaged.
std::optional<Checkpoint> load_checkpoint(const std::string& directory,
                                          const std::function<void(const std::string&)>& warn);

/// The options in the newest readable checkpoint; its vectors are not read. Empty if there is none.
std::map<std::string, std::string> checkpoint_options(const std::string& directory);

}  // namespace evener
