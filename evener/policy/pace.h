// How many rows a parameter server gives each node (ours): so many that all take equally long.
//
//   q_i  seconds that node i takes for a row, messages included: the median of its last 5 cycles
//   r_i = N b (1/q_i) / sum_j 1/q_j, within [b/16, 16 b]
//
// Rounds of equal length leave nobody waiting and no push stale. A node's step goes with its rows,
// lr r_i / b, so that the mean of N pushes is the mean over their N b rows, as with equal parts.
// What a message takes whatever its rows is in q_i too, which therefore falls as r_i grows: the
// rule is repeated, and comes to rest where all cycles are equal. The median passes over a stall of
// a cycle or two; within 5 % of where it should be r_i stays, so that jitter does not move it.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "evener/core/time.h"

namespace evener {

class Pace {
 public:
  /// `rows` is b; `follows`: whether rows go by pace, or all nodes get b.
  Pace(std::size_t rows, bool follows) : equal_(static_cast<double>(rows)), follows_(follows) {}

  /// Nothing is known of it: it gets b, or as many as its memory holds (0: any number).
  void join(int node, std::size_t most);
  void leave(int node);
  /// It has done steps of so many rows, and took so long from release to push. Fewer than it was
  /// given say nothing of its pace: an epoch has ended, and messages take as long as before.
  void finished(int node, std::size_t rows, Seconds cycle);

  bool follows() const { return follows_; }
  std::size_t rows(int node) const;
  /// Factor of the learning rate for a batch of so many rows.
  double rate(std::size_t rows) const;

 private:
  static constexpr std::size_t kCycles = 5;
  struct Node {
    bool present = false;
    std::size_t most = 0;                       // rows, by its memory; 0: no limit
    double rows = 0;                            // r_i
    std::array<double, kCycles> seconds_a_row;  // of its last cycles
    std::size_t cycles = 0;                     // that it has done
    double rows_a_second = 0;                   // 1/q_i; 0: not known yet
  };
  static std::size_t index(int node) { return static_cast<std::size_t>(node); }

  double equal_;
  bool follows_;
  std::vector<Node> nodes_;
};

}  // namespace evener
