// How many rows a parameter server gives each node, so that all take equally long (ours).
//
//   q_i  seconds that node i computes for a row: the median of its last 5 pushes
//   r_i = N b (1/q_i) / sum_j 1/q_j, within [b/16, 16 b]
//
// In rounds of equal length no node waits and no push is stale. A node's learning rate is
// proportional to its rows, lr r_i / b, so that the mean of N pushes is the mean over their N b
// rows, as with equal parts. The time of messages is not counted: where messages take most of a
// cycle, the cycle does not depend on the rows, and r_i would drift. q_i includes the fixed cost of
// a step, so it falls as r_i grows. The rule is therefore applied repeatedly, and converges where
// all nodes compute equally long. The median ignores a stall of one or two pushes. r_i does not
// change while it is within 5 % of its target, so that jitter does not change it.
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

  /// A new node: it gets b rows, or as many as its memory holds (0: no limit).
  void join(int node, std::size_t most);
  void leave(int node);
  /// A node has computed so many rows in this time. Measurements with fewer rows than assigned, at
  /// the end of an epoch, are ignored.
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
    std::size_t pushes = 0;                     // so far
    double rows_a_second = 0;                   // 1/q_i; 0: not known yet
  };
  static std::size_t index(int node) { return static_cast<std::size_t>(node); }

  double equal_;
  bool follows_;
  std::vector<Node> nodes_;
};

}  // namespace evener
