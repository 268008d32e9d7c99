// Bulk synchronous parallel: every node waits until all have pushed, and the mean of their pushes
// is applied once.
#include <algorithm>
#include <utility>
#include <vector>

#include "evener/policy/parameter_server.h"
#include "evener/policy/policies.h"

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
    if (!nodes().anyone_computing()) flush(true);
  }
  void flush(bool go_on) {
    if (group_.empty()) return;
    std::vector<int> group = std::exchange(group_, {});
    std::sort(group.begin(), group.end());  // who gets which rows does not depend on who came first
    apply(group, static_cast<double>(group.size()) / nodes().count(), 1);
    if (!go_on) return;
    for (const int node : group) release(node);
  }

  std::vector<int> group_;  // that have pushed and wait
};

}  // namespace

std::unique_ptr<Policy> make_bsp(const PolicyConfig& config) {
  return std::make_unique<Bsp>(config);
}

}  // namespace evener
