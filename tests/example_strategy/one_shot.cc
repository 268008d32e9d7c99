// One-shot averaging (Zinkevich et al. 2010): every worker trains its own replica for a whole
// epoch, at its own speed. At the end of the epoch the replicas are averaged:
//   w = sum a_i w_i  with  a_i = rows_i / sum rows   (weights=rows)
//                     or   a_i = 1 / workers         (weights=equal)
#include <numeric>
#include <vector>

#include "evener/policy/strategy.h"
#include "evener/policy/worker_set.h"

namespace evener {

namespace {

class OneShot final : public Policy {
 public:
  explicit OneShot(const PolicyConfig& config)
      : batch_(config.own_batch()), by_rows_(config.values.is("weights", "rows")) {}

  Decisions on(const Event& event) override {
    Decisions decisions;
    dispatch(
        event,
        [&](const Joined& e) {
          workers_.join(e);
          rows_.resize(static_cast<std::size_t>(workers_.size()));
          if (running_) decisions = assign_idle();
        },
        [&](const Lost& e) {  // its rows are back in the epoch
          workers_.lose(e.worker);
          rows_of(e.worker) = 0;
          if (running_) decisions = assign_idle();
        },
        [&](const EpochBegan&) {
          running_ = true;
          decisions = assign_idle();
        },
        [&](const Finished& e) {
          workers_.at(e.worker).busy = false;
          rows_of(e.worker) += e.rows;
          decisions = assign_idle();
        },
        [&](const OutOfRows& e) { workers_.at(e.worker).busy = false; },
        [&](const EpochEnded&) {
          running_ = false;
          decisions = average();
        },
        Ignore<Suspected, InvalidPush, Delivered, Measured, Merged, TimerFired>{});
    return decisions;
  }

 private:
  Decisions assign_idle() {
    Decisions decisions;
    for (const int worker : workers_.idle_workers()) {
      decisions.push_back(workers_.assign(worker, batch_, Work::local));
    }
    return decisions;
  }

  /// A worker that trained nothing, or is gone, has the weight 0.
  Decisions average() {
    std::vector<double> weights;
    for (const double rows : rows_) weights.push_back(by_rows_ || rows == 0 ? rows : 1);
    rows_.assign(rows_.size(), 0);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (sum == 0) return {};
    for (double& weight : weights) weight /= sum;
    return {Merge{weights}};
  }

  double& rows_of(int worker) { return rows_.at(static_cast<std::size_t>(worker)); }

  std::size_t batch_;
  bool by_rows_;
  WorkerSet workers_;
  std::vector<double> rows_;  // that each worker has trained in this epoch
  bool running_ = false;
};

}  // namespace

Strategy one_shot_strategy() {
  return {.name = "one-shot",
          .line = "replicas train alone for an epoch, then all become their mean",
          .paper = "Zinkevich et al. 2010",
          .sharing = Sharing::replicas,
          .options = {word_option("weights", {"rows", "equal"},
                                  "weights of replicas: by the rows they trained, or all alike")},
          .make = [](const PolicyConfig& config) { return std::make_unique<OneShot>(config); }};
}

}  // namespace evener
