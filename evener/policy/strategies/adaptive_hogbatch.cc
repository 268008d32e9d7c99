// Adaptive Hogbatch [H, section 5]: hogbatch whose batch sizes evolve so that updates balance.
// On "ready" from worker E:
//   u_E += survival * t  if E works in place with t threads, else 1
//   u_E > max(u_others):  b_E = min(growth * b_E, max_E)      ahead: larger batches, fewer updates
//   u_E < min(u_others):  b_E = max(b_E / growth, min_E)      behind: smaller batches, more updates
// The bounds are what balance may cost in utilization. Ours: an accelerator's min_E also rises to
// the smallest batch that gave `min-utilization` of its best measured throughput.
#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "evener/core/error.h"
#include "evener/policy/free_running.h"
#include "evener/policy/policies.h"
#include "evener/policy/rate_scaling.h"

namespace evener {

namespace {

struct Pace {
  double updates = 0;                        // u_E
  double batch = 1;                          // b_E
  double least = 1, most = 1;                // min_E, max_E
  std::map<double, double> rows_per_second;  // the best seen, by batch size
};

class AdaptiveHogbatch final : public FreeRunning {
 public:
  explicit AdaptiveHogbatch(const StrategyValues& values)
      : values_(values),
        rate_(values),
        growth_(values.number("growth")),
        survival_(values.number("survival")),
        min_utilization_(values.number("min-utilization")) {
    for (const std::string kind : {"cpu", "accelerator"}) {
      if (values.number(kind + "-min") > values.number(kind + "-max")) {
        throw UsageError("the batch bounds cross: " + kind + "-min " + values.word(kind + "-min") +
                         " is more than " + kind + "-max " + values.word(kind + "-max"));
      }
    }
  }

 private:
  void joined(int worker) override {
    if (paces_.size() <= static_cast<std::size_t>(worker)) paces_.resize(worker + 1U);
    Pace& pace = pace_of(worker);
    const bool in_place = workers().at(worker).traits.in_place;
    const std::string kind = in_place ? "cpu" : "accelerator";
    pace.least = values_.number(kind + "-min");
    pace.most = values_.number(kind + "-max");
    pace.batch = std::clamp(values_.number(kind + "-batch"), pace.least, pace.most);
    // A newcomer is neither ahead nor behind.
    const auto [least, most] = updates_of_others(worker);
    pace.updates = least <= most ? (least + most) / 2 : 0;
  }

  void finished(const Finished& event) override {
    Pace& pace = pace_of(event.worker);
    const WorkerTraits& traits = workers().at(event.worker).traits;
    pace.updates += traits.in_place ? survival_ * traits.threads : 1;
    if (!traits.in_place) keep_utilization(pace, event);
    const auto [least, most] = updates_of_others(event.worker);
    if (least > most) return;  // alone
    if (pace.updates > most) pace.batch = std::min(growth_ * pace.batch, pace.most);
    if (pace.updates < least) pace.batch = std::max(pace.batch / growth_, pace.least);
  }

  Assign next(int worker) override {
    const auto rows = static_cast<std::size_t>(pace_of(worker).batch);
    return hogbatch(worker, rows, rate_.of(rows));
  }

  void keep_utilization(Pace& pace, const Finished& event) const {
    const auto rows = static_cast<double>(event.rows);
    if (event.seconds <= 0 || rows < pace.batch) return;  // cut short by the epoch's end
    double& best_here = pace.rows_per_second[rows];
    best_here = std::max(best_here, rows / event.seconds);
    double best = 0;
    for (const auto& [size, rate] : pace.rows_per_second) best = std::max(best, rate);
    if (best_here < min_utilization_ * best) {
      pace.least = std::max(pace.least, std::min(growth_ * rows, pace.most));
      pace.batch = std::max(pace.batch, pace.least);
    }
  }

  /// Least and most; crossed where there are no others.
  std::pair<double, double> updates_of_others(int worker) const {
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const int other : workers().present()) {
      if (other == worker) continue;
      least = std::min(least, paces_[static_cast<std::size_t>(other)].updates);
      most = std::max(most, paces_[static_cast<std::size_t>(other)].updates);
    }
    return {least, most};
  }

  Pace& pace_of(int worker) { return paces_[static_cast<std::size_t>(worker)]; }

  StrategyValues values_;
  RateScaling rate_;
  double growth_, survival_, min_utilization_;
  std::vector<Pace> paces_;
};

}  // namespace

std::unique_ptr<Policy> make_adaptive_hogbatch(const PolicyConfig& config) {
  return std::make_unique<AdaptiveHogbatch>(config.values);
}

}  // namespace evener
