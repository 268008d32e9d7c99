// The server's half of a parameter server: the model, its versions, and pushes that wait for the
// policy's word. The nodes' half is node_replica.h; between them is a call, or a network.
//
// Of a sparse input layer only rows that changed since a node's last pull travel to it, and only
// rows that it changed travel back. Nodes pull and push beside the scheduler's updates: a lock
// makes each pull see whole updates.
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

/// What a node gets.
struct Pull {
  bool whole = false;               // everything; otherwise these rows and the dense part
  bool applied = false;             // what became of its last push, where there was one
  std::vector<std::uint32_t> rows;  // of a sparse input layer
};

class ParameterStore {
 public:
  /// Of a shard of the model, as a vector of its own; what follows calls that the model.
  ParameterStore(const Shard& shard, std::size_t nodes, int threads);

  /// Calls copy(pull, model) while nobody changes the model.
  void pull(int node, const std::function<void(const Pull&, std::span<const float>)>& copy);

  /// A vector that is zero; what a node has changed is written there, at the places of its rows and
  /// of the dense part, and then told by `push`.
  std::span<float> pushed_to(int node) { return at(node).push.span(); }
  void push(int node, std::vector<std::uint32_t> rows);

  /// The pushes of these nodes come into the model; policy/decisions.h has the formula.
  void apply_pushes(const ApplyPushes& decision);
  /// The push is thrown away.
  void reject(int node);
  /// It is gone: a push that waits is thrown away.
  void forget(int node);
  // The next pull is a whole one: of a node whose copy was overwritten, of all after the model was.
  void renew(int node) { at(node).fresh = false; }
  void renew_all();

  /// What became of the node's last push, before its next pull.
  bool applied(int node) { return at(node).applied; }

  /// Of the model's moves; empty where there is none.
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
    bool fresh = false;                  // it holds that model, but for what it changed itself
    bool waiting = false;                // its push is neither let in nor thrown away yet
    bool applied = false;                // what became of the push before its next pull
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
  std::vector<std::uint64_t> row_versions_;  // of the last update of a sparse input row
  RowSet ever_;                              // rows that momentum goes on in
  std::vector<Node> nodes_;
};

}  // namespace evener
