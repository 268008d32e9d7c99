// How many rows a parameter server gives each node (ours): so many that all take equally long.
//
//   q_i  seconds that node i computes for a row: the median of its last 5 pushes
//   r_i = N b (1/q_i) / sum_j 1/q_j, within [b/16, 16 b]
//
// In rounds of equal length no node waits and no push is stale. A node's step goes with its rows,
// lr r_i / b, so that the mean of N pushes is the mean over their N b rows, as with equal parts.
// Messages are not counted: where they are most of a cycle, equal cycles say nothing about rows,
// and what was left to them would drift. What a step costs whatever its rows is in q_i, which
// therefore falls as r_i grows: the rule is repeated, and comes to rest where all compute equally
// long. The median passes over a stall of a push or two; within 5 % of where it should be r_i
// stays, so that jitter does not move it.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "evener/core/seconds.h"

namespace evener {

class ThroughputSplit {
 public:
  /// `rows` is b; `follows`: rows follow the speed of nodes; otherwise all nodes get b.
  ThroughputSplit(std::size_t rows, bool follows)
      : equal_(static_cast<double>(rows)), follows_(follows) {}

  /// Nothing is known of it: it gets b, or as many as its memory holds (0: any number).
  void join(int node, std::size_t most);
  void leave(int node);
  /// It has done steps of so many rows, and computed for so long. Steps of fewer rows than it was
  /// given say little about its speed: an epoch has ended.
  void finished(int node, std::size_t rows, Seconds compute);

  bool follows() const { return follows_; }
  std::size_t rows(int node) const;
  /// Factor of the learning rate for a batch of so many rows.
  double rate(std::size_t rows) const;

 private:
  static constexpr std::size_t kPushes = 5;
  struct Node {
    bool present = false;
    std::size_t most = 0;                       // rows, by its memory; 0: no limit
    double rows = 0;                            // r_i
    std::array<double, kPushes> seconds_a_row;  // of its last pushes
    std::size_t pushes = 0;                     // that it has made
    double rows_a_second = 0;                   // 1/q_i; 0: not known yet
  };
  static std::size_t index(int node) { return static_cast<std::size_t>(node); }

  double equal_;
  bool follows_;
  std::vector<Node> nodes_;
};

}  // namespace evener
