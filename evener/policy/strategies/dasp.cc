// Dynamic adaptive synchronous parallel [D]: the server knows every node's state and cycle, and
// switches each between synchronous and asynchronous updates. The paper has the idea; the rule is
// ours:
//
//   on push(i), tau = V - v_i:
//     tau > tau-max   catch-up: rejected; the node pulls again, and its rows are trained again
//     tau >= N        async: apply(push, 1/N, lambda(tau)), release at once
//     else            sync: group += i; deadline = min(deadline, now + beta T_i); flush at the
//                     deadline, or as soon as waiting does not pay any more
//   a wait pays while for some k the k nearest of the nodes at work are within k beta T / N of now
//     T: the shortest cycle in the group; a node's distance: |release_j + T_j - now|
//   flush: apply(mean(group), |group|/N, 1); release its members that are at most s-clock ahead
//
// Why: waiting for h seconds costs each of the g members h/T of a push. Continuing without k others
// makes g k pairs of pushes stale to each other by 1/N of a step. If that costs beta/N of a push
// per pair, waiting pays where h < k beta T / N. An overdue node counts as far away as it is late,
// so no node waits long for a stalled one.
//
// Nodes get rows by their speed (throughput_split.h), unless split=equal, so that most pushes
// arrive together. The rule is for the others: nodes that stall, jitter or have just joined.
//
// beta = inf is bsp, beta = 0 is asp, beta = 0 with a finite s-clock is ssp (with staleness-lr,
// where no node is beyond tau-max, and all with the same `split`).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "evener/policy/parameter_server.h"

namespace evener {

namespace {

constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();

class Dasp final : public ParameterServer {
 public:
  explicit Dasp(const PolicyConfig& config)
      : ParameterServer(config),
        beta_(config.values.number("beta")),
        tau_max_(config.values.number("tau-max", 0)),
        s_clock_(config.values.number("s-clock")) {}

 private:
  void pushed(int node) override {
    const int n = nodes().count();
    const std::uint64_t tau = staleness(node);
    if (static_cast<double>(tau) > (tau_max_ > 0 ? tau_max_ : 2.0 * n)) {
      nodes().move(node, NodeState::catch_up);
      reject(node);
      release(node);
    } else if (tau >= static_cast<std::uint64_t>(n)) {
      nodes().move(node, NodeState::async);
      apply({node}, 1.0 / n, damping_of(tau, n));
      release_within(node, s_clock_);
    } else {
      nodes().move(node, NodeState::sync);
      group_.push_back(node);
      shortest_ = std::min(shortest_, nodes().at(node).cycle);
      deadline_ = std::min(deadline_, now() + beta_ * nodes().at(node).cycle);
      flush_if_due();
    }
    release_bound(s_clock_);
  }
  void missed(int node) override {
    std::erase(group_, node);
    if (group_.empty()) deadline_ = shortest_ = kNever;
    flush_if_due();
    release_bound(s_clock_);
  }
  void reconsider() override {
    flush_if_due();
    release_bound(s_clock_);
  }
  void ended() override { flush(false); }

  void flush_if_due() {
    if (group_.empty()) return;
    const Seconds until = std::min(deadline_, pays_until());
    if (now() >= until) return flush(true);
    if (until < kNever) set_timer(until);
  }
  /// Until when waiting pays if no push arrives.
  Seconds pays_until() const {
    Seconds until = now(), first = kNever;
    double k = 0;
    for (const Seconds time : expected()) {
      first = std::min(first, time);
      const Seconds patience = beta_ * shortest_ * ++k / nodes().count();
      if (time - patience < now()) until = std::max(until, first + patience);
    }
    return until;
  }
  /// When the pushes of computing nodes are expected, the nearest to now first. A node whose cycle
  /// is not known yet counts as having the cycle of the group.
  std::vector<Seconds> expected() const {
    std::vector<Seconds> times;
    for (const int node : nodes().present()) {
      const NodeRecord& record = nodes().at(node);
      if (!record.computing || record.state == NodeState::suspect) continue;
      times.push_back(record.released + (record.cycle > 0 ? record.cycle : shortest_));
    }
    std::sort(times.begin(), times.end(),
              [&](Seconds a, Seconds b) { return std::abs(a - now()) < std::abs(b - now()); });
    return times;
  }
  void flush(bool go_on) {
    deadline_ = shortest_ = kNever;
    if (group_.empty()) return;
    std::vector<int> group = std::exchange(group_, {});
    std::sort(group.begin(), group.end());  // rows and sums do not depend on the order of arrival
    apply_group(group);
    if (!go_on) return;
    for (const int node : group) release_within(node, s_clock_);
  }

  double beta_, tau_max_, s_clock_;
  std::vector<int> group_;     // that have pushed and wait
  Seconds shortest_ = kNever;  // T: the shortest cycle in it
  Seconds deadline_ = kNever;
};

}  // namespace

Strategy dasp_strategy() {
  return {.name = "dasp",
          .line = "each worker moves between synchronous and asynchronous ways by its state",
          .paper = "Ma, Xiang et al. 2023",
          .order = 130,
          .sharing = Sharing::pushes,
          .options = join_options(
              parameter_server_options({"speed", "equal"}),
              {number_option("beta", "0.75", 0, kUnbounded,
                             "a push waits for all others at most this share of a cycle, for fewer "
                             "in proportion less; inf: bsp, 0: asp (ours)"),
               number_option("tau-max", "auto", 1, kUnbounded,
                             "a push that missed more updates is refused and its node pulls "
                             "afresh; auto: 2 x nodes (ours)"),
               number_option("s-clock", "inf", 0, kUnbounded,
                             "pushes that a node may be ahead of the slowest (ours)")}),
          .make = [](const PolicyConfig& config) { return std::make_unique<Dasp>(config); },
          .automatic = {{AutoFor::nodes}},
          .compression = compression_from};
}

}  // namespace evener
