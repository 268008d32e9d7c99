// Plain mini-batch SGD: one worker, one batch after the other.
#include "evener/policy/strategy.h"
#include "evener/policy/worker_set.h"

namespace evener {

namespace {

class Sequential final : public Policy {
 public:
  explicit Sequential(std::size_t batch) : batch_(batch) {}

  Decisions on(const Event& event) override {
    Decisions decisions;
    const auto train = [&] { decisions = {workers_.assign(0, batch_, Work::local)}; };
    dispatch(
        event, [&](const Joined& e) { workers_.join(e); }, [&](const EpochBegan&) { train(); },
        [&](const Finished&) { train(); },
        // A run that loses its only worker is over.
        Ignore<Lost, Suspected, InvalidPush, Delivered, OutOfRows, Measured, Merged, TimerFired,
               EpochEnded>{});
    return decisions;
  }

 private:
  WorkerSet workers_;
  std::size_t batch_;
};

}  // namespace

Strategy sequential_strategy() {
  return {.name = "sequential",
          .line = "one device, one batch after the other: plain mini-batch training",
          .order = 10,
          .sharing = Sharing::single,
          .make =
              [](const PolicyConfig& config) {
                return std::make_unique<Sequential>(config.own_batch());
              },
          .automatic = {{AutoFor::one_device}}};
}

}  // namespace evener
