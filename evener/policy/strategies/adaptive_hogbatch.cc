// Adaptive Hogbatch [H, section 5]: hogbatch whose batch sizes adapt so that workers do equally
// many updates. On "ready" from worker E:
//   u_E += survival * t  if E works in place with t threads, else 1
//   u_E > max(u_others):  b_E = min(growth * b_E, max_E)      ahead: larger batches, fewer updates
//   u_E < min(u_others):  b_E = max(b_E / growth, min_E)      behind: smaller batches, more updates
// The bounds limit the loss of utilization. Ours: an accelerator's min_E also rises to the smallest
// batch that reached `min-utilization` of its best measured throughput.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "evener/policy/batch_bounds.h"
#include "evener/policy/free_running.h"
#include "evener/policy/hogbatch_options.h"

namespace evener {

namespace {

struct DeviceBatch {
  double updates = 0;                        // u_E
  double batch = 1;                          // b_E
  double least = 1, most = 1;                // min_E, max_E
  std::map<double, double> rows_per_second;  // the best seen, by batch size
};

class AdaptiveHogbatch final : public FreeRunning {
 public:
  explicit AdaptiveHogbatch(const PolicyConfig& config)
      : FreeRunning(is_anchored(config.values), shares_tail(config.values), most_cpu_rows(config)),
        cpu_(batch_bounds(config, "cpu", cpu_batch(config), {0.5, 1})),
        accelerator_(batch_bounds(config, "accelerator", accelerator_batch(config), {1, 2})),
        growth_(config.values.number("growth")),
        survival_(config.values.number("survival")),
        min_utilization_(config.values.number("min-utilization")) {}

 private:
  void joined(int worker) override {
    if (devices_.size() <= static_cast<std::size_t>(worker)) devices_.resize(worker + 1U);
    DeviceBatch& device = device_of(worker);
    const WorkerTraits& traits = workers().at(worker).traits;
    const BatchBounds& bounds = traits.in_place ? cpu_ : accelerator_;
    device.least = bounds.least;
    device.most = bounds.most;
    if (traits.in_place) {
      device.most = std::min(device.most, static_cast<double>(most_rows(traits)));
      device.least = std::min(device.least, device.most);
    }
    device.batch = std::clamp(bounds.first, device.least, device.most);
    // A new worker is neither ahead nor behind.
    const auto [least, most] = updates_of_others(worker);
    device.updates = least <= most ? (least + most) / 2 : 0;
  }

  void finished(const Finished& event) override {
    DeviceBatch& device = device_of(event.worker);
    const WorkerTraits& traits = workers().at(event.worker).traits;
    device.updates += traits.in_place ? survival_ * traits.threads : 1;
    if (!traits.in_place) keep_utilization(device, event);
    const auto [least, most] = updates_of_others(event.worker);
    if (least > most) return;  // there is no other worker
    if (device.updates > most) device.batch = std::min(growth_ * device.batch, device.most);
    if (device.updates < least) device.batch = std::max(device.batch / growth_, device.least);
  }

  Assign next(int worker) override {
    return hogbatch(worker, static_cast<std::size_t>(device_of(worker).batch));
  }

  void keep_utilization(DeviceBatch& device, const Finished& event) const {
    const auto rows = static_cast<double>(event.rows);
    if (event.seconds <= 0 || rows < device.batch) return;  // cut short by the epoch's end
    double& best_here = device.rows_per_second[rows];
    best_here = std::max(best_here, rows / event.seconds);
    double best = 0;
    for (const auto& [size, rate] : device.rows_per_second) best = std::max(best, rate);
    if (best_here < min_utilization_ * best) {
      device.least = std::max(device.least, std::min(growth_ * rows, device.most));
      device.batch = std::max(device.batch, device.least);
    }
  }

  /// The least and the most updates of other workers; least > most if there are none.
  std::pair<double, double> updates_of_others(int worker) const {
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const int other : workers().present()) {
      if (other == worker) continue;
      least = std::min(least, devices_[static_cast<std::size_t>(other)].updates);
      most = std::max(most, devices_[static_cast<std::size_t>(other)].updates);
    }
    return {least, most};
  }

  DeviceBatch& device_of(int worker) { return devices_[static_cast<std::size_t>(worker)]; }

  BatchBounds cpu_, accelerator_;
  double growth_, survival_, min_utilization_;
  std::vector<DeviceBatch> devices_;
};

}  // namespace

Strategy adaptive_hogbatch_strategy() {
  return {
      .name = "adaptive-hogbatch",
      .line = "hogbatch whose batch sizes evolve until all do equally many updates",
      .paper = "Ma, Rusu 2020",
      .order = 40,
      .sharing = Sharing::shared,
      .options = join_options(
          hogbatch_options(),
          {number_option("growth", "2", 1.01, 100, "alpha: factor of a batch size's move"),
           number_option("survival", "1", 0.001, 1, "beta: share of Hogwild writes that survive"),
           number_option("cpu-min", "auto", 1, kMostRows,
                         "least rows of a CPU thread's step; auto: cpu-batch / 2"),
           number_option("cpu-max", "auto", 1, kMostRows,
                         "most rows of a CPU thread's step; auto: cpu-batch"),
           number_option("accelerator-min", "auto", 1, kMostRows,
                         "least rows of an accelerator's step; auto: accelerator-batch"),
           number_option("accelerator-max", "auto", 1, kMostRows,
                         "most rows of an accelerator's step; auto: 2 x accelerator-batch"),
           number_option("min-utilization", "0.5", 0, 1,
                         "an accelerator's batches stay so large that it reaches this share of the "
                         "best throughput seen (ours)")}),
      .batch_options = {"cpu-batch", "accelerator-batch"},
      .presets = hogbatch_presets({{"cpu-min", "1"},
                                   {"cpu-max", "64"},
                                   {"accelerator-min", "64"},
                                   {"accelerator-max", "8192"},
                                   {"min-utilization", "0"}}),
      .make = [](const PolicyConfig& config) { return std::make_unique<AdaptiveHogbatch>(config); },
      .overwrites = overwrites};
}

}  // namespace evener
