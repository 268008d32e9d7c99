// Dynamic adaptive synchronous parallel [D]: the server knows every node's state and pace, and
// moves each between synchronous and asynchronous ways. The paper fixes the idea; the rule is ours:
//
//   on push(i), tau = V - v_i:
//     tau > tau-max   catch-up: refused, the node pulls afresh and its rows are trained anew
//     tau >= N        async: apply(push, 1/N, lambda(tau)), go on at once
//     else            sync: group += i; deadline = min(deadline, now + beta T_i); flush when no
//                     released node is expected before the deadline, or at it
//   flush: apply(mean(group), |group|/N, 1); its members go on, unless more than s-clock ahead
//
// beta = inf is bsp, beta = 0 is asp, beta = 0 with a finite s-clock is ssp (with staleness-lr, and
// where nobody is beyond tau-max).
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "evener/policy/parameter_server.h"
#include "evener/policy/policies.h"

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
      deadline_ = std::min(deadline_, now() + beta_ * nodes().at(node).cycle);
      flush_if_due();
      if (!group_.empty() && deadline_ < kNever) wake_at(deadline_);
    }
    release_bound(s_clock_);
  }
  void missed(int node) override {
    std::erase(group_, node);
    flush_if_due();
    release_bound(s_clock_);
  }
  void woken() override {
    flush_if_due();
    release_bound(s_clock_);
  }
  void ended() override { flush(false); }

  void flush_if_due() {
    if (group_.empty()) return;
    if (now() < deadline_ && anyone_expected()) return;
    flush(true);
  }
  /// Before the deadline. One that is overdue, or whose pace is not known, may come at any moment.
  bool anyone_expected() const {
    const auto present = nodes().present();
    return std::any_of(present.begin(), present.end(), [&](int node) {
      const NodeRecord& record = nodes().at(node);
      if (record.state == NodeState::suspect) return false;
      return record.computing && record.released + record.cycle < deadline_;
    });
  }
  void flush(bool go_on) {
    deadline_ = kNever;
    if (group_.empty()) return;
    std::vector<int> group = std::exchange(group_, {});
    std::sort(group.begin(), group.end());  // who gets which rows does not depend on who came first
    apply(group, static_cast<double>(group.size()) / nodes().count(), 1);
    if (!go_on) return;
    for (const int node : group) release_within(node, s_clock_);
  }

  double beta_, tau_max_, s_clock_;
  std::vector<int> group_;  // that have pushed and wait
  Seconds deadline_ = kNever;
};

}  // namespace

std::unique_ptr<Policy> make_dasp(const PolicyConfig& config) {
  return std::make_unique<Dasp>(config);
}

}  // namespace evener
