// Adaptive SGD [A]: replicas on unequal devices. Each mega-batch:
//   while samples remain: the first idle device i takes b_i samples, one local step, u_i += 1
//   MERGE  a_i = b_i / sum b if all u are equal, else u_i / sum u
//          if |w_i| / parameters < threshold for every i:
//            a_argmax(u) *= 1+delta, a_argmin(u) *= 1-delta
//          w_new = sum a_i w_i + gamma (w - w_prev); every w_i = w_new
//   SCALE  mu = mean(u); u_i > mu and b_i + beta (u_i - mu) <= b_max: b' = b_i + beta (u_i - mu)
//          u_i < mu and b_i - beta (mu - u_i) >= b_min: b' = b_i - beta (mu - u_i)
//          lr_i *= b'/b_i; b_i = b'
// Ours: a mega-batch ends with its epoch at the latest; scaler=throughput (batch_scaler.h);
// demotion=on (trials.h).
#include <limits>

#include "evener/policy/batch_scaler.h"
#include "evener/policy/normalized_merge.h"
#include "evener/policy/policies.h"
#include "evener/policy/trials.h"

namespace evener {

namespace {

constexpr std::size_t kEndless = std::numeric_limits<std::size_t>::max() / 2;

class AdaptiveSgd final : public Policy {
 public:
  explicit AdaptiveSgd(const PolicyConfig& config)
      : scaler_(config),
        merge_(config.values),
        trials_(config.values.on("demotion"), config.values.number("worth")),
        dynamic_(config.values.is("scheduling", "dynamic")) {}

  Decisions on(const Event& event) override {
    decisions_.clear();
    std::visit(Cases{[&](const Joined& e) {
                       workers_.join(e);
                       scaler_.join(e.worker);
                       trials_.join(e.worker, e.traits.name);
                       if (running_) give(e.worker);
                     },
                     [&](const Lost& e) {
                       workers_.lose(e.worker);
                       scaler_.leave(e.worker);
                       trials_.leave(e.worker);
                       left_ += e.rows;
                       quota_ += e.rows;
                       out_of_rows_ = false;
                       if (running_) continue_or_merge();
                     },
                     [&](const EpochBegan& e) {
                       running_ = true;
                       epoch_ = e.epoch;
                       scaler_.begin_epoch(e.epoch);
                       trials_.epoch_began(e.now);
                       begin_mega_batch();
                     },
                     [&](const Finished& e) {
                       workers_.at(e.worker).busy = false;
                       const std::size_t most = workers_.at(e.worker).traits.most_rows;
                       const std::size_t rows = scaler_.rows(e.worker);
                       scaler_.finished(e);
                       trials_.finished(e, e.rows >= (most > 0 ? std::min(most, rows) : rows));
                       continue_or_merge();
                     },
                     [&](const OutOfRows& e) {
                       workers_.at(e.worker).busy = false;
                       out_of_rows_ = true;
                     },
                     [&](const EpochEnded&) {
                       running_ = false;
                       if (scaler_.any_updates()) decisions_.emplace_back(Measure{});
                     },
                     [&](const Measured& e) { merge_and_scale(e.norms); },
                     [&](const Merged& e) { go_on(e.now); }, [](const auto&) {}},
               event);
    return decisions_;
  }
  std::string undecided() const override { return trials_.undecided(); }

 private:
  void begin_mega_batch() {
    out_of_rows_ = false;
    const auto workers = trials_.active();
    scaler_.begin_mega_batch();
    left_ = trials_.alone() || trials_.looking() ? kEndless : scaler_.mega_batch();
    quota_ = left_ / std::max<std::size_t>(1, workers.size());
    for (const int worker : workers) give(worker);
  }

  void give(int worker) {
    // A look is over when all have done it; what comes next waits for the merge.
    if (out_of_rows_ || left_ == 0 || (trials_.looking() && trials_.looked())) return;
    // Static scheduling, for the ablation: nobody takes more than an equal share.
    std::size_t most = left_;
    if (!dynamic_) {
      const std::size_t had = scaler_.rows_taken(worker);
      most = std::min(left_, quota_ > had ? quota_ - had : 0);
      if (most == 0) return;
    }
    const Assign assign = workers_.assign(worker, std::min(scaler_.rows(worker), most), Work::local,
                                          scaler_.rate(worker));
    left_ -= assign.rows;
    scaler_.took(worker, assign.rows);
    decisions_.emplace_back(assign);
  }

  /// Everyone who is idle goes on; when nobody can, the mega-batch is over.
  void continue_or_merge() {
    for (const int worker : trials_.active()) {
      if (!workers_.at(worker).busy) give(worker);
    }
    if (workers_.idle() && !out_of_rows_ && scaler_.any_updates())
      decisions_.emplace_back(Measure{});
  }

  void merge_and_scale(const std::vector<double>& norms) {
    const auto workers = trials_.active();
    decisions_.emplace_back(merge_.weigh(scaler_.progress(), workers, norms, epoch_));
    scaler_.scale(workers);
    scaler_.begin_mega_batch();
  }

  void go_on(Seconds now) {
    for (const auto& text : trials_.merged(now, scaler_.mega_batch()))
      decisions_.emplace_back(Note{text});
    if (running_) begin_mega_batch();
  }

  WorkerSet workers_;
  BatchScaler scaler_;
  NormalizedMerge merge_;
  Trials trials_;
  bool dynamic_;
  bool running_ = false, out_of_rows_ = false;
  std::uint64_t epoch_ = 0;
  std::size_t left_ = 0, quota_ = 0;  // samples of the mega-batch, of each device's static share
  Decisions decisions_;
};

}  // namespace

std::unique_ptr<Policy> make_adaptive_sgd(const PolicyConfig& config) {
  return std::make_unique<AdaptiveSgd>(config);
}

}  // namespace evener
