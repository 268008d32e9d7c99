// Dynamic stale synchronous parallel (Zhao et al. 2019): as ssp with bound s-low, but the fastest
// node may do up to r-max more steps beyond it: the number after which it ends nearest to a push of
// the slowest node, by the last interval of each. In the paper the gap can grow without bound; here
// s-high is a hard limit (ours).
#include <algorithm>
#include <cmath>
#include <vector>

#include "evener/policy/asynchronous_server.h"

namespace evener {

namespace {

class Dssp final : public AsynchronousServer {
 public:
  explicit Dssp(const PolicyConfig& config)
      : AsynchronousServer(config),
        low_(config.values.number("s-low")),
        high_(config.values.number("s-high")),
        most_turns_(static_cast<int>(config.values.number("r-max"))) {}

 private:
  void pushed(int node) override {
    apply_at_once(node);
    release_within(node, may_go_on(node) ? high_ : low_);
    release_bound(low_);
  }
  void missed(int /*node*/) override { release_bound(low_); }
  void reconsider() override { release_bound(low_); }

  bool may_go_on(int node) {
    if (turns_.size() <= static_cast<std::size_t>(node)) turns_.resize(nodes().size(), 0);
    int& turns = turns_[static_cast<std::size_t>(node)];
    const auto ahead = static_cast<double>(nodes().at(node).clock - nodes().least_clock());
    if (ahead <= low_) {
      turns = 0;
      return false;
    }
    if (turns == 0 && is_fastest(node)) {
      turns = best_turns(nodes().at(node), nodes().at(slowest()));
    }
    if (turns == 0) return false;
    --turns;
    return true;
  }

  bool is_fastest(int node) const {
    for (const int other : nodes().present()) {
      if (nodes().at(other).clock > nodes().at(node).clock) return false;
    }
    return true;
  }
  int slowest() const {
    int slowest = nodes().present().front();
    for (const int node : nodes().present()) {
      if (nodes().at(node).clock < nodes().at(slowest).clock) slowest = node;
    }
    return slowest;
  }
  /// The r in [0, r-max] with the shortest wait between the end of r more steps and the slowest
  /// node's next push after that.
  int best_turns(const NodeRecord& fast, const NodeRecord& slow) const {
    if (slow.last_interval <= 0) return 0;
    int best = 0;
    double shortest = 0;
    for (int r = 0; r <= most_turns_; ++r) {
      const Seconds end = now() + r * fast.last_interval;
      const double periods = std::max(1.0, std::ceil((end - slow.pushed) / slow.last_interval));
      const double wait = slow.pushed + periods * slow.last_interval - end;
      if (r == 0 || wait < shortest) {
        best = r;
        shortest = wait;
      }
    }
    return best;
  }

  double low_, high_;
  int most_turns_;
  std::vector<int> turns_;  // that each node has left
};

}  // namespace

Strategy dssp_strategy() {
  return {
      .name = "dssp",
      .line = "ssp where the fastest gets extra turns by measured speed",
      .paper = "Zhao et al. 2019",
      .order = 120,
      .sharing = Sharing::pushes,
      .options = join_options(
          asynchronous_server_options(),
          {number_option("s-low", "3", 0, kUnbounded, "pushes that any node may be ahead"),
           number_option("s-high", "15", 0, kUnbounded, "pushes that no node is ever ahead (ours)"),
           number_option("r-max", "12", 0, 1000, "turns more that the fastest may get at once")}),
      .make = [](const PolicyConfig& config) { return std::make_unique<Dssp>(config); },
      .compression = compression_from};
}

}  // namespace evener
