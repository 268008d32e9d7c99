// CPU+GPU Hogbatch [H, section 4]: CPU threads step in place on the shared model with small batches
// while each accelerator steps on a copy of it with large ones. The next batch goes to the worker
// that is ready first.
#include <fmt/format.h>

#include "evener/policy/free_running.h"
#include "evener/policy/hogbatch_options.h"

namespace evener {

namespace {

constexpr const char* kName = "hogbatch";

class Hogbatch final : public FreeRunning {
 public:
  explicit Hogbatch(const PolicyConfig& config)
      : FreeRunning(is_anchored(config.values), shares_tail(config.values), most_cpu_rows(config)),
        cpu_batch_(cpu_batch(config)),
        accelerator_batch_(accelerator_batch(config)) {}

 private:
  Assign next(int worker) override {
    const bool in_place = workers().at(worker).traits.in_place;
    return hogbatch(worker, in_place ? cpu_batch_ : accelerator_batch_);
  }

  std::size_t cpu_batch_, accelerator_batch_;
};

std::string hint(const StrategyValues& values, const HintSetup& setup) {
  if (std::string text = cpu_batch_hint(kName, values, setup); !text.empty()) return text;
  if (!setup.has_accelerators || !values.is("accelerator-batch", "1")) return "";
  return fmt::format(
      "hint: accelerators copy the model for every single row; faster: {}:accelerator-batch=1024",
      kName);
}

}  // namespace

Strategy hogbatch_strategy() {
  return {
      .name = kName,
      .line = "small batches in place on CPU threads beside large ones on copies by accelerators",
      .paper = "Ma, Rusu 2020",
      .order = 30,
      .sharing = Sharing::shared,
      .options = hogbatch_options(),
      .batch_options = {"cpu-batch", "accelerator-batch"},
      .presets = hogbatch_presets(),
      .make = [](const PolicyConfig& config) { return std::make_unique<Hogbatch>(config); },
      .hint = hint,
      .overwrites = overwrites};
}

}  // namespace evener
