// A cluster as a stage: tasks go to nodes, and pushes come back.
#include <limits>
#include <queue>
#include <utility>

#include "evener/cluster/registry.h"

namespace evener {

namespace {

class NodeStage final : public Stage {
 public:
  explicit NodeStage(Registry& registry) : registry_(registry) {}
  ~NodeStage() override { registry_.leave_engine(); }

  Seconds now() const override { return registry_.now(); }
  void start(Task task) override { registry_.start(std::move(task)); }
  std::optional<Arrival> next() override {
    const Seconds until = wakes_.empty() ? std::numeric_limits<Seconds>::infinity() : wakes_.top();
    auto arrival = registry_.next(until);
    while (!arrival && !wakes_.empty() && wakes_.top() <= now()) wakes_.pop();
    return arrival;
  }
  void wake_at(Seconds time) override { wakes_.push(time); }
  bool is_there(int worker) const override { return registry_.is_there(worker); }
  std::vector<Change> take_changes() override { return registry_.take_changes(); }
  bool awaits() const override { return true; }

 private:
  Registry& registry_;
  std::priority_queue<Seconds, std::vector<Seconds>, std::greater<>> wakes_;
};

}  // namespace

std::unique_ptr<Stage> make_node_stage(Registry& registry) {
  return std::make_unique<NodeStage>(registry);
}

}  // namespace evener
