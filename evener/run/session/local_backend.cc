// A run on the devices of this machine.
#include <utility>

#include "evener/run/options/recipe.h"
#include "evener/run/options/strategy_for.h"
#include "evener/run/session/backends.h"
#include "evener/run/session/engine_backend.h"
#include "evener/run/session/shortlist_fit.h"

namespace evener {

namespace {

class LocalBackend : public EngineBackend {
 public:
  RunKind kind() const override { return RunKind::local; }

  std::vector<std::string> open(TrainOptions& options, const Checkpoint* /*resumed*/,
                                const BackendContext& context) override {
    set_context(context);
    if (options.head == "auto") options.head = "full";  // saved, so that a resumed run has it too
    std::vector<std::string> notes;
    if (options.has_shortlist()) notes = use_shortlist(options, context.devices);
    RunDevices devices = open_run_devices(options, context.devices);
    // Saved, so that a resumed run uses the same devices.
    if (!devices.found.empty()) options.devices = devices.found;
    notes.insert(notes.end(), devices.notes.begin(), devices.notes.end());
    const std::size_t count = devices.count();
    const bool tries_devices = options.strategy == "auto" && count > 1;
    set_up(options, strategy_for_devices(options, count), std::move(devices), tries_devices);
    Supervision& supervision = setup().supervision;
    supervision.interrupted = context.interrupted;
    supervision.limits.stall.fixed = options.cluster.stall_timeout;
    supervision.main_steps = context.main_steps;
    return notes;
  }

 private:
  static std::vector<std::string> use_shortlist(TrainOptions& options,
                                                const DeviceContext& context) {
    check_shortlist(options);
    options = with_shortlist_training(std::move(options));
    return choose_shortlist_devices(options.devices, context);
  }

  void keep_choice(TrainOptions& options, const DeviceChoice& choice) override {
    keep_devices(options, device_names(), choice.devices);
  }
};

}  // namespace

std::unique_ptr<Backend> make_local_backend() {
  return std::make_unique<LocalBackend>();
}

}  // namespace evener
