// A worker's half of a parameter server: it takes a pull, trains on it, and computes what changed.
// The server's half is parameter_store.h.
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

/// What a worker keeps beside the model: its optimizer's vectors, and with compression what it has
/// not sent yet.
using WorkerState = std::vector<FloatBuffer>;

/// The state of a worker in a checkpoint; vectors that are missing there are copied from `other`.
WorkerState memory_from(std::map<std::string, FloatBuffer>& kept, std::size_t worker,
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
  /// Writes what changed, after compression, into a vector of the model's size, at the places of
  /// changed() and of the dense part.
  void difference(std::span<float> push);

  /// Its state, while none of its pushes waits. `applied`: whether the last one was applied.
  WorkerState memory(bool applied);
  /// Restores a state; an empty one resets it. Error where it is of another network or optimizer.
  void remember(WorkerState memory);

  const std::vector<std::uint32_t>& changed() const { return changed_.rows(); }
  Replica& device() { return *replica_; }
  bool remote() const { return replica_->remote(); }

 private:
  void commit_residual();
  void list_owed_rows(std::span<const std::uint32_t> among);
  void compress_push(const Blocks& blocks, std::span<float> push);

  std::unique_ptr<Replica> replica_;
  Network network_;
  Layout layout_;
  const Dataset& data_;
  Compression compression_;
  RowSet changed_;      // by the current task, or by the push that waits
  FloatBuffer pulled_;  // the model as it was pulled, at the places that were
  // With compression: what was not sent yet, and what will not have been sent if the current push
  // is applied. A push that is rejected changes nothing.
  FloatBuffer owed_, owed_next_;
  RowSet owed_rows_;
};

}  // namespace evener
