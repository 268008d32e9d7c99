// Synchronous data parallelism, what MirroredStrategy and DDP do: each batch is cut into one part a
// worker, and one update made from the gradient of all parts. g = sum_i (rows_i / sum rows) g_i.
// split=equal is what they do. Ours: split=speed, rows_i = batch * rate_i / sum rate, from the
// rates of the rounds before, so that all parts take equally long. Until these are known the batch
// is dealt out in pieces to whoever is free. The updates are the same. One whose part would be
// under a twenty-fifth, often in a row, brings less than a round costs it and gets none any more.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "evener/policy/batch_pieces.h"
#include "evener/policy/policies.h"
#include "evener/policy/rounds.h"

namespace evener {

namespace {

// Of the newest rate in the smoothed one: parts follow a change within a few rounds.
constexpr double kNewest = 0.5;
constexpr double kLeastPart = 0.04;
constexpr int kOften = 10;

class Sync final : public Rounds {
 public:
  explicit Sync(const PolicyConfig& config)
      : Rounds(1, config.shared_batch(), Work::gradient),
        by_speed_(config.values.is("split", "speed")),
        batch_(config.batch),
        batch_per_device_(config.batch_per_device) {}

 private:
  Decision end_of_round(const std::vector<std::size_t>& rows) override {
    const auto total =
        static_cast<double>(std::accumulate(rows.begin(), rows.end(), std::size_t{0}));
    Apply apply;
    for (const std::size_t part : rows) apply.weights.push_back(static_cast<double>(part) / total);
    return apply;
  }

  void finished(const Finished& event) override {
    WorkerRate& worker_rate = rate_of(event.worker);
    if (event.seconds <= 0) return;
    const double rate = static_cast<double>(event.rows) / event.seconds;
    worker_rate.rate = worker_rate.rate > 0 ? std::lerp(worker_rate.rate, rate, kNewest) : rate;
  }
  /// Whoever is left may be the one that was not worth it.
  void left(int /*worker*/) override {
    for (WorkerRate& worker_rate : rates_) worker_rate = {};
  }

  std::vector<std::size_t> parts(const std::vector<int>& workers) override {
    if (!by_speed_) return Rounds::parts(workers);
    const std::size_t batch = batch_per_device_ > 0 ? batch_per_device_ * workers.size() : batch_;
    const bool known = std::all_of(workers.begin(), workers.end(),
                                   [&](int worker) { return rate_of(worker).rate > 0; });
    pieces_ =
        known || workers.size() == 1 ? BatchPieces{} : split_into_pieces(batch, workers.size());
    if (pieces_.pieces > 0) {
      pieces_.pieces -= workers.size();
      return std::vector(workers.size(), pieces_.rows);
    }
    return parts_by_speed(workers, batch);
  }
  std::size_t again(std::size_t /*done*/) override {
    if (pieces_.pieces == 0) return 0;
    --pieces_.pieces;
    return pieces_.rows;
  }

  std::vector<std::size_t> parts_by_speed(const std::vector<int>& workers, std::size_t batch) {
    std::vector<double> shares;
    shares.reserve(workers.size());
    for (const int worker : workers) {
      shares.push_back(workers.size() == 1 ? 1 : rate_of(worker).rate);
    }
    if (workers.size() > 1) demote(workers, shares);
    const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
    // Ends are rounded rather than parts, so that these add up to the batch.
    std::vector<std::size_t> rows;
    double sum = 0;
    long begin = 0;
    for (const double share : shares) {
      sum += share;
      const long end = std::lround(static_cast<double>(batch) * sum / total);
      rows.push_back(static_cast<std::size_t>(end - begin));
      begin = end;
    }
    // Everybody has a row, so that its rate is known; from whoever has most.
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (shares[i] == 0 || rows[i] > 0) continue;
      std::size_t& most = *std::max_element(rows.begin(), rows.end());
      if (most > 1) --most;
      rows[i] = 1;
    }
    return rows;
  }

  struct WorkerRate {
    double rate = 0;   // rows a second; 0: not known
    int too_slow = 0;  // rounds in a row that its part was not worth having
  };
  WorkerRate& rate_of(int worker) {
    const auto index = static_cast<std::size_t>(worker);
    if (rates_.size() <= index) rates_.resize(index + 1);
    return rates_[index];
  }

  /// Takes the share of those that are not worth it.
  void demote(const std::vector<int>& workers, std::vector<double>& shares) {
    const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (std::size_t i = 0; i < workers.size(); ++i) {
      WorkerRate& worker_rate = rate_of(workers[i]);
      const bool gone = worker_rate.too_slow == kOften;
      if (!gone)
        worker_rate.too_slow = shares[i] < kLeastPart * total ? worker_rate.too_slow + 1 : 0;
      if (worker_rate.too_slow < kOften) continue;
      if (!gone) {
        note(
            fmt::format("decided: {} is demoted: it did {:.1f} % of the rows, and each round "
                        "waits for it",
                        name(workers[i]), 100 * shares[i] / total));
      }
      shares[i] = 0;
    }
  }

  bool by_speed_;
  std::size_t batch_, batch_per_device_;
  std::vector<WorkerRate> rates_;  // by worker
  BatchPieces pieces_;             // what is left of a batch that is dealt out
};

}  // namespace

std::unique_ptr<Policy> make_sync(const PolicyConfig& config) {
  return std::make_unique<Sync>(config);
}

}  // namespace evener
