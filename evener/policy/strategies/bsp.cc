// Bulk synchronous parallel: every node waits until all have pushed, and the mean of their pushes
// is applied once.
#include <algorithm>
#include <utility>
#include <vector>

#include "evener/policy/parameter_server.h"

namespace evener {

namespace {

class Bsp final : public ParameterServer {
 public:
  using ParameterServer::ParameterServer;

 private:
  void pushed(int node) override {
    nodes().move(node, NodeState::sync);
    group_.push_back(node);
    flush_if_complete();
  }
  void missed(int node) override {
    std::erase(group_, node);
    flush_if_complete();
  }
  void ended() override { flush(false); }

  void flush_if_complete() {
    if (!nodes().any_computing()) flush(true);
  }
  void flush(bool go_on) {
    if (group_.empty()) return;
    std::vector<int> group = std::exchange(group_, {});
    std::sort(group.begin(), group.end());  // rows and sums do not depend on the order of arrival
    apply_group(group);
    if (!go_on) return;
    for (const int node : group) release(node);
  }

  std::vector<int> group_;  // that have pushed and wait
};

}  // namespace

Strategy bsp_strategy() {
  return {.name = "bsp",
          .line = "parameter server: all push, the mean is applied, all go on",
          .paper = "Valiant 1990",
          .order = 90,
          .sharing = Sharing::pushes,
          .options = parameter_server_options({"equal", "speed"}),
          .make = [](const PolicyConfig& config) { return std::make_unique<Bsp>(config); },
          .compression = compression_from};
}

}  // namespace evener
