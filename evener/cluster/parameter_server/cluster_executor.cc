// A cluster as an executor: tasks go to workers, and their pushes come back.
#include <limits>
#include <queue>
#include <utility>

#include "evener/cluster/parameter_server/coordinator_service.h"

namespace evener {

namespace {

class ClusterExecutor final : public Executor {
 public:
  explicit ClusterExecutor(CoordinatorService& coordinator) : coordinator_(coordinator) {}
  ~ClusterExecutor() override { coordinator_.leave_engine(); }

  Seconds now() const override { return coordinator_.now(); }
  void start(Task task) override { coordinator_.start(std::move(task)); }
  std::optional<Arrival> next() override {
    const Seconds until =
        timers_.empty() ? std::numeric_limits<Seconds>::infinity() : timers_.top();
    auto arrival = coordinator_.next(until);
    while (!arrival && !timers_.empty() && timers_.top() <= now()) timers_.pop();
    return arrival;
  }
  void set_timer(Seconds time) override { timers_.push(time); }
  bool is_present(int worker) const override { return coordinator_.is_present(worker); }
  std::optional<MembershipChange> take_change() override { return coordinator_.take_change(); }
  bool waits_for_workers() const override { return true; }
  bool interrupted() const override { return coordinator_.interrupted(); }

 private:
  CoordinatorService& coordinator_;
  std::priority_queue<Seconds, std::vector<Seconds>, std::greater<>> timers_;
};

}  // namespace

std::unique_ptr<Executor> make_cluster_executor(CoordinatorService& coordinator) {
  return std::make_unique<ClusterExecutor>(coordinator);
}

}  // namespace evener
