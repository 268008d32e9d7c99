// A node's half of a parameter server: it takes a pull, trains on it, and works out what changed.
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

/// What a node remembers beside the model: its optimizer's vectors, and with compression what it
/// owes.
using WorkerState = std::vector<FloatBuffer>;

/// What was kept of a worker's, and where nothing was, the other's.
WorkerState memory_from(std::map<std::string, FloatBuffer>& kept, std::size_t worker,
                        const WorkerState& other);

class NodeReplica {
 public:
  /// `data` outlives it.
  NodeReplica(std::unique_ptr<Replica> replica, const Network& network, const Dataset& data,
              const Compression& compression);

  /// The model as it was last pulled: what a pull brings is written there, then told by `take`.
  std::span<float> pulled() { return pulled_.span(); }
  /// The device gets it, and the rows that these steps will change are worked out.
  void take(const Pull& pull, const Task& task);
  /// The loss summed over the rows.
  double train(const Task& task);
  /// What changed, into a vector of the model's size, at the places of changed() and of the dense
  /// part; what compression leaves of it.
  void difference(std::span<float> push);

  /// While no push of its waits; `applied`: what became of the last one.
  WorkerState memory(bool applied);
  /// None of it: it begins anew. Error where it is not a node's of this network and optimizer.
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
  RowSet changed_;      // by the task at hand, or by the push that waits
  FloatBuffer pulled_;  // the model as it was pulled, where it was
  // With compression: what was not sent yet, and what will not have been when the push at hand is
  // let in; one that is thrown away leaves the old debt.
  FloatBuffer owed_, owed_next_;
  RowSet owed_rows_;
};

}  // namespace evener
