// Hogwild (Recht et al. 2011; the CPU half of [H]): every thread takes b samples, steps on the
// shared model without locks, and takes the next.
#include "evener/policy/free_running.h"
#include "evener/policy/policies.h"

namespace evener {

namespace {

class Hogwild final : public FreeRunning {
 public:
  explicit Hogwild(std::size_t batch) : batch_(batch) {}

 private:
  Assign next(int worker) override { return hogbatch(worker, batch_); }

  std::size_t batch_;
};

}  // namespace

std::unique_ptr<Policy> make_hogwild(const PolicyConfig& config) {
  return std::make_unique<Hogwild>(static_cast<std::size_t>(config.values.number("cpu-batch")));
}

}  // namespace evener
