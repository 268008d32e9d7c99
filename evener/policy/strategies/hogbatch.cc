// CPU+GPU Hogbatch [H, section 4]: CPU threads step in place on the shared model with small batches
// while each accelerator steps on a copy of it with large ones; the next batch goes to whoever is
// ready.
#include "evener/policy/free_running.h"
#include "evener/policy/policies.h"
#include "evener/policy/rate_scaling.h"

namespace evener {

namespace {

class Hogbatch final : public FreeRunning {
 public:
  explicit Hogbatch(const StrategyValues& values)
      : rate_(values),
        cpu_batch_(static_cast<std::size_t>(values.number("cpu-batch"))),
        accelerator_batch_(static_cast<std::size_t>(values.number("accelerator-batch"))) {}

 private:
  Assign next(int worker) override {
    const bool in_place = workers().at(worker).traits.in_place;
    const std::size_t rows = in_place ? cpu_batch_ : accelerator_batch_;
    return hogbatch(worker, rows, rate_.of(rows));
  }

  RateScaling rate_;
  std::size_t cpu_batch_, accelerator_batch_;
};

}  // namespace

std::unique_ptr<Policy> make_hogbatch(const PolicyConfig& config) {
  return std::make_unique<Hogbatch>(config.values);
}

}  // namespace evener
