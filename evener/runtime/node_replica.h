// The worker's side of a parameter server: it loads a pull, trains on it, and computes the push.
// The server's side is parameter_store.h.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "evener/device/device.h"
#include "evener/runtime/compression.h"
#include "evener/runtime/parameter_store.h"
#include "evener/runtime/row_set.h"
#include "evener/runtime/task.h"

namespace evener {

/// The state that a worker keeps beside the model: its optimizer's vectors, and with compression
/// the residual that it has not sent yet.
using WorkerState = std::vector<FloatBuffer>;

/// The state of a worker in a checkpoint. Missing vectors are copied from `other`.
WorkerState state_from(std::map<std::string, FloatBuffer>& kept, std::size_t worker,
                       const WorkerState& other);

class NodeReplica {
 public:
  /// `data` outlives it.
  NodeReplica(std::unique_ptr<Replica> replica, const Network& network, const Dataset& data,
              const Compression& compression);

  /// The model as it was last pulled. A pull is written there, and then `take` is called.
  std::span<float> pulled() { return pulled_.span(); }
  /// Loads the pull into the device, and lists the rows that these steps will change.
  void take(const Pull& pull, const Task& task);
  /// The loss summed over the rows.
  double train(const Task& task);
  /// Writes what changed, after compression, into a vector of the model's size: the rows of
  /// changed() and the dense part.
  void difference(std::span<float> push);

  /// Call it while none of its pushes waits. `applied`: whether the last push was applied.
  WorkerState state(bool applied);
  /// Restores a state; an empty one resets it. Error if it belongs to another network or optimizer.
  void restore(WorkerState state);

  const std::vector<std::uint32_t>& changed() const { return changed_.rows(); }
  Replica& device() { return *replica_; }
  bool remote() const { return replica_->remote(); }

 private:
  void commit_residual();
  void list_residual_rows(std::span<const std::uint32_t> among);
  void compress_push(const Blocks& blocks, std::span<float> push);

  std::unique_ptr<Replica> replica_;
  Network network_;
  Layout layout_;
  const Dataset& data_;
  Compression compression_;
  RowSet changed_;      // by the current task, or by the push that waits
  FloatBuffer pulled_;  // the rows and the dense part that were pulled last
  // With compression: the residual that was not sent yet, and the residual after the current push
  // is applied. A rejected push does not change it.
  FloatBuffer residual_, next_residual_;
  RowSet residual_rows_;
};

}  // namespace evener
