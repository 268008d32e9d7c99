// A run on simulated devices, in virtual time.
#include <algorithm>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/run/options/recipe.h"
#include "evener/run/options/strategy_for.h"
#include "evener/run/session/backends.h"
#include "evener/run/session/engine_backend.h"
#include "evener/run/session/shortlist_fit.h"

namespace evener {

namespace {

// Key in a checkpoint: the devices of the cluster file that trials have chosen, by index.
constexpr const char* kUsedKey = "virtual devices";

class VirtualBackend : public EngineBackend {
 public:
  explicit VirtualBackend(VirtualTimeOptions options) : options_(std::move(options)) {}

  RunKind kind() const override { return RunKind::virtual_time; }

  std::vector<std::string> open(TrainOptions& options, const Checkpoint* resumed,
                                const BackendContext& context) override {
    set_context(context);
    if (options.head == "auto") options.head = "full";
    if (options.has_shortlist()) {
      check_shortlist(options);
      options = with_shortlist_training(std::move(options));
    }
    for (const auto& [name, given] : {std::pair{"--devices", options.devices != "auto"},
                                      {"--emulate", !options.emulate.empty()},
                                      {"--memory-limit", !options.memory_limit.empty()}}) {
      if (!given) continue;
      throw UsageError(fmt::format("{}: a simulation has the devices of its cluster file", name));
    }
    RunDevices devices;
    devices.virtual_time = options_;
    // Trials need all devices from the start.
    const auto& models = options_.devices;
    const bool tries_devices =
        options.strategy == "auto" && models.size() > 1 &&
        std::all_of(models.begin(), models.end(),
                    [](const DeviceModel& model) { return model.joins_at == 0; });
    used_.clear();
    if (resumed != nullptr) keep_used(options, *resumed, *devices.virtual_time);
    const std::size_t count = devices.count();
    set_up(options, strategy_for_devices(options, count), std::move(devices), tries_devices);
    const bool has_cards = std::any_of(models.begin(), models.end(),
                                       [](const DeviceModel& model) { return !model.in_place; });
    if (!options.has_shortlist() || !has_cards) return {};
    return {"this simulates accelerators that can train the shortlist head; real ones cannot yet"};
  }

  void add_keys(OptionTexts& texts) const override {
    if (!used_.empty()) texts[kUsedKey] = used_;
  }

 private:
  void keep_choice(TrainOptions& /*options*/, const DeviceChoice& choice) override {
    used_ = fmt::format("{}", fmt::join(choice.devices, " "));
  }

  /// A resumed run with the same strategy uses the devices that trials have chosen.
  void keep_used(const TrainOptions& options, const Checkpoint& resumed, VirtualTimeOptions& time) {
    const auto used = resumed.options.find(kUsedKey);
    if (used == resumed.options.end()) return;
    if (options.strategy != resumed.options.at("strategy")) return;
    used_ = used->second;
    std::vector<DeviceModel> kept;
    std::istringstream numbers(used_);
    for (std::size_t i = 0; numbers >> i;) {
      if (i < time.devices.size()) kept.push_back(time.devices[i]);
    }
    if (!kept.empty()) time.devices = std::move(kept);
  }

  VirtualTimeOptions options_;
  std::string used_;
};

}  // namespace

std::unique_ptr<Backend> make_virtual_backend(VirtualTimeOptions options) {
  return std::make_unique<VirtualBackend>(std::move(options));
}

}  // namespace evener
