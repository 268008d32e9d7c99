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

/// Where a run stands. With the data, the options and the seed this determines all that follows.
struct Progress {
  std::uint64_t step = 0;      // updates done
  std::uint64_t epoch = 0;     // epochs completed
  std::uint64_t next_row = 0;  // position in the current epoch's order
  double train_loss_sum = 0;   // of the current epoch so far, weighted by rows
  double best_metric = 0;
  std::uint64_t best_epoch = 0;
  std::uint64_t epochs_since_best = 0;
  double seconds = 0;                       // of training so far, over all resumptions
  std::vector<std::uint64_t> worker_steps;  // by each worker
};

struct Checkpoint {
  Model model;
  std::vector<FloatBuffer> state;  // the optimizer's vectors, in the network's layout
  // What else the run's strategy needs to go on exactly, by name (Models::keep), in that layout.
  std::map<std::string, FloatBuffer> kept;
  Progress progress;
  std::map<std::string, std::string> options;  // the resolved options of the run, as text
};

/// Writes DIRECTORY/step-NNNNNNNN (model.safetensors, a model like any other, and
/// state.safetensors) as: temporary directory, files with checksums, fsync, rename, fsync of the
/// parent; then removes all but the newest `keep`. Checkpoints of later steps are of a future that
/// was given up (they were damaged when the run resumed) and go too. Nothing is removed before the
/// new one is complete but what killed writers left. One writer a directory.
void save_checkpoint(const Checkpoint& checkpoint, const std::string& directory, int keep = 2);

/// The newest checkpoint that verifies; damaged ones are reported through `warn` (naming the
/// tensor) and passed over. Nothing if there is none at all; Error if all are damaged.
std::optional<Checkpoint> load_checkpoint(const std::string& directory,
                                          const std::function<void(const std::string&)>& warn);

/// The options in the newest checkpoint that can be read; its vectors are not looked at. Empty if
/// there is none.
std::map<std::string, std::string> checkpoint_options(const std::string& directory);

}  // namespace evener
