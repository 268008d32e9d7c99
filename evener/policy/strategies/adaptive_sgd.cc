// Adaptive SGD [A]: replicas on unequal devices. Each mega-batch:
//   while samples remain: the first idle device i takes b_i samples, one local step, u_i += 1
//   MERGE  a_i = b_i / sum b if all u are equal, else u_i / sum u
//          if |w_i| / parameters < threshold for every i:
//            a_argmax(u) *= 1+delta, a_argmin(u) *= 1-delta
//          w_new = sum a_i w_i + gamma (w - w_prev); every w_i = w_new
//   SCALE  mu = mean(u); u_i > mu and b_i + beta (u_i - mu) <= b_max: b' = b_i + beta (u_i - mu)
//          u_i < mu and b_i - beta (mu - u_i) >= b_min: b' = b_i - beta (mu - u_i)
//          lr_i *= b'/b_i; b_i = b'             (our defaults differ: adaptive_sgd_options.h)
#include "evener/policy/adaptive_sgd_options.h"
#include "evener/policy/merge_interval.h"
#include "evener/policy/worker_set.h"

namespace evener {

namespace {

class AdaptiveSgd final : public Policy {
 public:
  explicit AdaptiveSgd(const PolicyConfig& config)
      : scaler_(config),
        interval_(scaler_.mega_batch(), config.values.number("merge-share")),
        merge_(config.values),
        dynamic_(config.values.is("scheduling", "dynamic")) {}

  Decisions on(const Event& event) override {
    decisions_.clear();
    dispatch(
        event,
        [&](const Joined& e) {
          whole_ = false;  // the new worker has no time in this mega-batch
          workers_.join(e);
          scaler_.join(e.worker);
          if (running_ && !merging_) give_batch(e.worker);
        },
        [&](const Lost& e) {
          whole_ = false;
          workers_.lose(e.worker);
          scaler_.leave(e.worker);
          left_ += e.rows;
          quota_ += e.rows;
          out_of_rows_ = false;
          if (running_ && !merging_) continue_or_merge();
        },
        [&](const EpochBegan& e) {
          running_ = true;
          epoch_ = e.epoch;
          scaler_.begin_epoch(e.epoch);
          begin_mega_batch(e.now);
        },
        [&](const Finished& e) {
          workers_.at(e.worker).busy = false;
          scaler_.finished(e);
          interval_.finished(e.worker, e.now);
          continue_or_merge();
        },
        [&](const OutOfRows& e) {
          workers_.at(e.worker).busy = false;
          out_of_rows_ = true;
        },
        [&](const EpochEnded&) {
          running_ = whole_ = false;
          if (scaler_.any_updates()) merge();
        },
        [&](const Measured& e) { merge_and_scale(e.norms); },
        [&](const Merged& e) {
          merging_ = false;
          if (whole_) interval_.merged(e.now, workers_.present());
          if (running_) begin_mega_batch(e.now);
        },
        Ignore<Suspected, InvalidPush, Delivered, TimerFired>{});
    return decisions_;
  }

 private:
  void begin_mega_batch(Seconds now) {
    out_of_rows_ = false;
    whole_ = true;
    const auto workers = workers_.present();
    scaler_.begin_mega_batch();
    interval_.began(now, static_cast<std::size_t>(workers_.size()));
    left_ = interval_.rows(scaler_.round(workers));
    quota_ = left_ / std::max<std::size_t>(1, workers.size());
    for (const int worker : workers) give_batch(worker);
  }

  void give_batch(int worker) {
    if (out_of_rows_ || left_ == 0) return;
    std::size_t most = left_;
    if (!dynamic_) {
      const std::size_t had = scaler_.rows_taken(worker);
      most = std::min(left_, quota_ > had ? quota_ - had : 0);
      if (most == 0) return;
    }
    Assign assign = workers_.assign(worker, std::min(scaler_.rows(worker), most), Work::local,
                                    scaler_.rate(worker));
    assign.update_rows = scaler_.update_rows(workers_.present());
    left_ -= assign.rows;
    scaler_.took(worker, assign.rows);
    decisions_.emplace_back(assign);
  }

  /// Assigns batches to idle devices; when none can get one, the mega-batch is over.
  void continue_or_merge() {
    for (const int worker : workers_.idle_workers()) give_batch(worker);
    if (workers_.idle() && !out_of_rows_ && scaler_.any_updates()) merge();
  }

  void merge() {
    if (merge_.needs_norms()) return decisions_.push_back(Measure{});
    merge_and_scale({});
  }

  void merge_and_scale(const std::vector<double>& norms) {
    merging_ = true;
    const auto workers = workers_.present();
    decisions_.emplace_back(merge_.weigh(scaler_.progress(), workers, norms, epoch_));
    scaler_.scale(workers);
    scaler_.begin_mega_batch();
  }

  WorkerSet workers_;
  BatchScaler scaler_;
  MergeInterval interval_;
  NormalizedMerge merge_;
  bool dynamic_, running_ = false, out_of_rows_ = false, merging_ = false;
  bool whole_ = false;  // the mega-batch has had the same workers and all its rows so far
  std::uint64_t epoch_ = 0;
  std::size_t left_ = 0, quota_ = 0;  // samples of the mega-batch, of each device's static share
  Decisions decisions_;
};

}  // namespace

Strategy adaptive_sgd_strategy() {
  return {.name = "adaptive-sgd",
          .line =
              "replicas; batches to the device that is free, sizes by speed, merged with "
              "normalized weights",
          .paper = "Ma, Rusu, Wu, Sim 2022",
          .order = 80,
          .sharing = Sharing::replicas,
          .options = adaptive_sgd_options(),
          .batch_options = {"b-max"},
          .presets = adaptive_sgd_presets(),
          .make = [](const PolicyConfig& config) { return std::make_unique<AdaptiveSgd>(config); },
          .automatic = {{AutoFor::dear_exchanges}}};
}

}  // namespace evener
