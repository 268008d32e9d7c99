// Hogwild (Recht et al. 2011; the CPU half of [H]): every thread takes b samples, steps on the
// shared model without locks, and takes the next.
#include "evener/policy/free_running.h"
#include "evener/policy/hogbatch_options.h"

namespace evener {

namespace {

class Hogwild final : public FreeRunning {
 public:
  explicit Hogwild(std::size_t batch)
      : FreeRunning(/*anchored=*/true, /*shares_tail=*/false), batch_(batch) {}

 private:
  Assign next(int worker) override { return hogbatch(worker, batch_); }

  std::size_t batch_;
};

}  // namespace

Strategy hogwild_strategy() {
  return {.name = "hogwild",
          .line = "CPU threads step in place on one shared model without locks",
          .paper = "Recht, Re, Wright, Niu 2011",
          .order = 20,
          .sharing = Sharing::in_place,
          .options = {cpu_batch_option("1", "")},
          .batch_options = {"cpu-batch"},
          .make =
              [](const PolicyConfig& config) {
                const auto batch = static_cast<std::size_t>(config.values.number("cpu-batch"));
                return std::make_unique<Hogwild>(batch);
              },
          .hint = [](const StrategyValues& values,
                     const HintSetup& setup) { return cpu_batch_hint("hogwild", values, setup); }};
}

}  // namespace evener
