// A run on the devices of this machine.
#include <utility>

#include "evener/core/error.h"
#include "evener/run/options/strategy_for.h"
#include "evener/run/session/backends.h"
#include "evener/run/session/engine_backend.h"

namespace evener {

namespace {

class LocalBackend : public EngineBackend {
 public:
  RunKind kind() const override { return RunKind::local; }

  std::vector<std::string> open(TrainOptions& options, const Checkpoint* /*resumed*/,
                                const BackendContext& context) override {
    if (options.has_shortlist()) throw Error("a shortlist head has its own backend");
    if (options.head == "auto") options.head = "full";  // saved, so that a resumed run has it too
    RunDevices devices = open_run_devices(options, context.devices);
    // Saved, so that a resumed run uses the same devices.
    if (!devices.found.empty()) options.devices = devices.found;
    std::vector<std::string> notes = devices.notes;
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
  void keep_choice(TrainOptions& options, const DeviceChoice& choice) override {
    keep_devices(options, device_names(), choice.devices);
  }
};

}  // namespace

std::unique_ptr<Backend> make_local_backend() {
  return std::make_unique<LocalBackend>();
}

}  // namespace evener
