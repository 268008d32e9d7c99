// Synchronous data parallelism, what MirroredStrategy and DDP do: each batch is cut into one part a
// worker, and one update made from the gradient of all parts. g = sum_i (rows_i / sum rows) g_i.
// split=equal is what they do. Ours: split=speed, rows_i = batch * rate_i / sum rate, from the
// rates of the rounds before, so that all parts take equally long. The updates are the same.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "evener/policy/policies.h"
#include "evener/policy/rounds.h"

namespace evener {

namespace {

// Of the newest rate in the smoothed one: parts follow a change within a few rounds.
constexpr double kNewest = 0.5;

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
    const auto worker = static_cast<std::size_t>(event.worker);
    if (rates_.size() <= worker) rates_.resize(worker + 1, 0);
    if (event.seconds <= 0) return;
    const double rate = static_cast<double>(event.rows) / event.seconds;
    rates_[worker] = rates_[worker] > 0 ? std::lerp(rates_[worker], rate, kNewest) : rate;
  }

  std::vector<std::size_t> parts(const std::vector<int>& workers) override {
    if (!by_speed_) return Rounds::parts(workers);
    std::vector<double> shares;
    shares.reserve(workers.size());
    for (const int worker : workers) shares.push_back(rate(worker));
    // Equal parts until everybody's rate is known.
    if (std::find(shares.begin(), shares.end(), 0.0) != shares.end()) {
      shares.assign(workers.size(), 1);
    }
    const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
    const auto batch =
        static_cast<double>(batch_per_device_ > 0 ? batch_per_device_ * workers.size() : batch_);
    // Ends are rounded rather than parts, so that these add up to the batch.
    std::vector<std::size_t> rows;
    double sum = 0;
    long begin = 0;
    for (const double share : shares) {
      sum += share;
      const long end = std::lround(batch * sum / total);
      rows.push_back(static_cast<std::size_t>(std::max(1L, end - begin)));
      begin = end;
    }
    return rows;
  }

  double rate(int worker) const {
    const auto index = static_cast<std::size_t>(worker);
    return index < rates_.size() ? rates_[index] : 0;
  }

  bool by_speed_;
  std::size_t batch_, batch_per_device_;
  std::vector<double> rates_;  // rows a second by worker; 0: not known
};

}  // namespace

std::unique_ptr<Policy> make_sync(const PolicyConfig& config) {
  return std::make_unique<Sync>(config);
}

}  // namespace evener
