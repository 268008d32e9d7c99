// The state, clock and cycle of each node of a parameter server [D].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evener/core/seconds.h"

namespace evener {

/// How a node takes part.
enum class NodeState {
  joining,   // present, and has pushed nothing yet
  sync,      // its pushes are gathered with others'
  async,     // its pushes are applied as they arrive
  bound,     // too far ahead: waits for the slowest
  catch_up,  // was too far behind: its push was rejected, and it pulls again
  suspect,   // its heartbeats have stopped
  dead,      // lost; a node that returns is joining
};
std::string to_string(NodeState state);
/// Whether a transition from one state to the other is allowed.
bool is_legal(NodeState from, NodeState to);

struct NodeRecord {
  NodeState state = NodeState::joining;
  NodeState trusted = NodeState::joining;  // of a suspect: its state before
  bool computing = false;                  // has been released and has not pushed since
  bool out_of_rows = false;                // there were no rows left for it
  std::uint64_t clock = 0;                 // pushes; a new node starts at the slowest node's clock
  std::uint64_t version = 0;               // of the model that it pulled last
  Seconds released = 0;                    // when it was last released
  Seconds pushed = 0;                      // when it last pushed
  Seconds cycle = 0;                       // smoothed time from release to push; 0: not known yet
  Seconds last_interval = 0;               // between its last two pushes
  Seconds waited = 0;                      // from push to release, in all
  std::uint64_t pushes = 0, applied = 0, rejected = 0;

  bool present() const { return state != NodeState::dead; }
  /// Too far ahead, or was so before its heartbeats stopped.
  bool bound() const { return (state == NodeState::suspect ? trusted : state) == NodeState::bound; }
};

class NodeTable {
 public:
  void join(int node);
  void leave(int node);
  void suspect(int node);
  void trust(int node);
  /// Error if the transition is not allowed. A transition to the same state does nothing.
  void move(int node, NodeState to);
  void release(int node, std::uint64_t version, Seconds now);
  void push(int node, Seconds now);

  NodeRecord& at(int node) { return nodes_.at(static_cast<std::size_t>(node)); }
  const NodeRecord& at(int node) const { return nodes_.at(static_cast<std::size_t>(node)); }
  int size() const { return static_cast<int>(nodes_.size()); }

  /// Indices of those present, ascending.
  std::vector<int> present() const;
  /// N: the number of present nodes.
  int count() const { return static_cast<int>(present().size()); }
  bool any_computing() const;
  /// c_min over present nodes; 0 if there is none.
  std::uint64_t least_clock() const;

 private:
  std::vector<NodeRecord> nodes_;
};

}  // namespace evener
