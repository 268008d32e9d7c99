// The part that bsp, asp, ssp, dssp and dasp share. A node that is released pulls the model, trains
// on it and pushes what changed. The policy decides what to do with the push and when to release
// the node again. V counts the updates of the model; a push's staleness tau is V minus the version
// that its node pulled.
#pragma once

#include <cstdint>
#include <vector>

#include "evener/policy/node_table.h"
#include "evener/policy/policy.h"
#include "evener/policy/strategy.h"
#include "evener/policy/throughput_split.h"

namespace evener {

class ParameterServer : public Policy {
 public:
  explicit ParameterServer(const PolicyConfig& config);

  Decisions on(const Event& event) final;
  std::vector<std::string> standings() const final;

  const NodeTable& nodes() const { return nodes_; }
  std::uint64_t version() const { return version_; }

 protected:
  /// A node has pushed and waits. The table is already updated.
  virtual void pushed(int node) = 0;
  /// A node is lost, or there were no rows for it: nodes that waited for it may be released.
  virtual void missed(int /*node*/) {}
  /// A timer has fired, or a node is suspected or trusted again: decide again which waiting nodes
  /// are released.
  virtual void reconsider() {}
  /// Every node is idle: pushes that are held back must be applied.
  virtual void ended() {}

  Seconds now() const { return now_; }
  NodeTable& nodes() { return nodes_; }
  std::uint64_t staleness(int node) const { return version_ - nodes_.at(node).version; }

  // Decisions.
  /// w moves by the mean of these nodes' pushes, as `share` of a step, times `damping`.
  void apply(std::vector<int> group, double share, double damping);
  /// The same for a group of nodes that waited for each other: |group| / N of a step.
  void apply_group(const std::vector<int>& group);
  /// The push is dropped and its rows are trained again.
  void reject(int node);
  void release(int node);
  /// Releases the node unless it is more than `bound` pushes ahead of the slowest; then it waits.
  void release_within(int node, double bound);
  /// Releases waiting nodes that are within the bound now.
  void release_bound(double bound);
  void set_timer(Seconds time) { decisions_.push_back(SetTimer{time}); }

 private:
  void release_out_of_rows();

  PolicyConfig config_;
  NodeTable nodes_;
  Seconds now_ = 0;
  std::uint64_t version_ = 0;
  ThroughputSplit split_;
  std::size_t local_steps_;
  double momentum_;
  bool running_ = false;
  bool rows_are_back_ = false;
  Decisions decisions_;
};

/// The options of all of them; `split`: its choices, the default first.
std::vector<StrategyOption> parameter_server_options(std::vector<std::string> split);

/// lambda(tau) = 1 / (1 + max(0, tau - (N-1)) / N): the weight of a late push.
double damping_of(std::uint64_t staleness, int nodes);

}  // namespace evener
