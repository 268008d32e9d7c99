// The server's side of a parameter server: the model, its versions, and pushes that wait for the
// policy's decision. The worker's side is node_replica.h. Both are in one process, or connected by
// a network.
//
// A pull has only the sparse rows (nn/network.h) that changed since the worker's last pull, and a
// push only those that the worker changed. Workers pull and push while the scheduler updates the
// model: a lock makes each pull see whole updates.
#pragma once

#include <cstdint>
#include <functional>
#include <shared_mutex>
#include <span>
#include <vector>

#include "evener/core/buffer.h"
#include "evener/device/device.h"
#include "evener/policy/decisions.h"
#include "evener/runtime/merge_walk.h"

namespace evener {

/// What a worker receives.
struct Pull {
  bool whole = false;               // everything; otherwise these rows and the dense part
  bool applied = false;             // whether its last push, if there was one, was applied
  std::vector<std::uint32_t> rows;  // sparse rows
};

class ParameterStore {
 public:
  /// Holds a shard of the model as a vector of its own, which is called the model below.
  ParameterStore(const Shard& shard, std::size_t nodes, int threads);

  /// Calls copy(pull, model) while the model does not change.
  void pull(int node, const std::function<void(const Pull&, std::span<const float>)>& copy);

  /// A vector of zeros. The caller writes the worker's changed rows and the dense part into it, and
  /// then calls `push`.
  std::span<float> pushed_to(int node) { return at(node).push.span(); }
  void push(int node, std::vector<std::uint32_t> rows);

  /// Adds the pushes of these workers to the model; policy/decisions.h has the formula.
  void apply_pushes(const ApplyPushes& decision);
  /// Drops the push.
  void reject(int node);
  /// The worker is lost: a push that waits is dropped.
  void forget(int node);
  // The next pull has the whole model: for a worker whose copy was overwritten, or for all workers
  // after the model was.
  void renew(int node) { at(node).fresh = false; }
  void renew_all();

  /// Whether the worker's last push was applied, before its next pull.
  bool applied(int node) { return at(node).applied; }

  /// The momentum of the model's updates; empty where there is none.
  const FloatBuffer& momentum() const { return momentum_; }
  void set_momentum(FloatBuffer momentum);

  FloatBuffer& model() { return model_; }
  const FloatBuffer& model() const { return model_; }

  std::size_t feature_rows() const { return shard_.rows; }
  /// Numbers in so many rows and the dense part.
  std::size_t numbers_of(std::size_t rows) const;
  Blocks blocks(std::span<const std::uint32_t> rows) const {
    return {rows, shard_.width, shard_.dense};
  }

 private:
  struct Node {
    std::uint64_t version = 0;           // of the model that it pulled last
    bool fresh = false;                  // it has that model, except for what it changed itself
    bool waiting = false;                // its push is neither applied nor dropped yet
    bool applied = false;                // whether its last push was applied, until its next pull
    std::vector<std::uint32_t> changed;  // by its last push
    FloatBuffer push;                    // zero outside the rows of a push that waits
  };

  Node& at(int node) { return nodes_[static_cast<std::size_t>(node)]; }
  Pull since(const Node& node) const;
  void clear(Node& node);

  Shard shard_;
  std::shared_mutex guard_;  // of the model and its versions
  FloatBuffer model_, momentum_;
  MergeWalk walk_;
  std::uint64_t version_ = 0;
  std::vector<std::uint64_t> row_versions_;  // of the last update of a sparse row
  RowSet ever_;                              // rows with momentum
  std::vector<Node> nodes_;
};

}  // namespace evener
