// What a parameter server knows about each node [D]: its state, clock and cycle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evener/core/seconds.h"

namespace evener {

/// How a node takes part.
enum class NodeState {
  joining,   // there, and has pushed nothing yet
  sync,      // its pushes are gathered with others'
  async,     // its pushes are applied as they come
  bound,     // too far ahead: waits for the slowest
  catch_up,  // was too far behind: its push was refused, it pulls afresh
  suspect,   // gives no sign of life
  dead,      // gone; one that comes back is joining
};
std::string to_string(NodeState state);
/// Whether a node may go from one state to the other.
bool is_legal(NodeState from, NodeState to);

struct NodeRecord {
  NodeState state = NodeState::joining;
  NodeState trusted = NodeState::joining;  // of a suspect: its state before
  bool computing = false;                  // has been released and has not pushed since
  bool out_of_rows = false;                // there were no rows for it
  std::uint64_t clock = 0;                 // pushes; a newcomer starts at the slowest's
  std::uint64_t version = 0;               // of the model that it pulled last
  Seconds released = 0;                    // when it was last told to go on
  Seconds pushed = 0;                      // when it last pushed
  Seconds cycle = 0;                       // smoothed time from release to push; 0: not known yet
  Seconds last_interval = 0;               // between its last two pushes
  Seconds waited = 0;                      // from push to release, in all
  std::uint64_t pushes = 0, applied = 0, rejected = 0;

  bool present() const { return state != NodeState::dead; }
  /// Too far ahead, or was before it went silent.
  bool bound() const { return (state == NodeState::suspect ? trusted : state) == NodeState::bound; }
};

class NodeTable {
 public:
  void join(int node);
  void leave(int node);
  void suspect(int node);
  void trust(int node);
  /// Throws where the step is not legal; a step to the same state is none.
  void move(int node, NodeState to);
  void release(int node, std::uint64_t version, Seconds now);
  void push(int node, Seconds now);

  NodeRecord& at(int node) { return nodes_.at(static_cast<std::size_t>(node)); }
  const NodeRecord& at(int node) const { return nodes_.at(static_cast<std::size_t>(node)); }
  int size() const { return static_cast<int>(nodes_.size()); }

  /// Indices of those present, ascending.
  std::vector<int> present() const;
  /// N: how many they are.
  int count() const { return static_cast<int>(present().size()); }
  bool any_computing() const;
  /// c_min over those present, 0 where none is.
  std::uint64_t least_clock() const;

 private:
  std::vector<NodeRecord> nodes_;
};

}  // namespace evener
