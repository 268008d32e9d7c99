#include "evener/policy/parts_by_speed.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace evener {

namespace {

// Weight of the newest rate in the smoothed one: parts follow a change within a few rounds.
constexpr double kNewestRate = 0.5;
constexpr double kLeastPart = 0.04;
constexpr int kOften = 10;

}  // namespace

PartsBySpeed::WorkerRate& PartsBySpeed::rate_of(int worker) {
  const auto index = static_cast<std::size_t>(worker);
  if (rates_.size() <= index) rates_.resize(index + 1);
  return rates_[index];
}

void PartsBySpeed::finished(const Finished& event) {
  if (event.seconds <= 0) return;
  WorkerRate& own = rate_of(event.worker);
  const double rate = static_cast<double>(event.rows) / event.seconds;
  own.rate = own.rate > 0 ? std::lerp(own.rate, rate, kNewestRate) : rate;
}

bool PartsBySpeed::knows(const std::vector<int>& workers) {
  return std::all_of(workers.begin(), workers.end(),
                     [&](int worker) { return rate_of(worker).rate > 0; });
}

PartsBySpeed::Parts PartsBySpeed::split(std::size_t batch, const std::vector<int>& workers) {
  std::vector<double> shares;
  shares.reserve(workers.size());
  for (const int worker : workers) {
    shares.push_back(workers.size() == 1 ? 1 : rate_of(worker).rate);
  }
  Parts parts;
  if (workers.size() > 1) parts.demotions = demote(workers, shares);
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  // Ends are rounded rather than parts, so that these add up to the batch.
  double sum = 0;
  long begin = 0;
  for (const double share : shares) {
    sum += share;
    const long end = std::lround(static_cast<double>(batch) * sum / total);
    parts.rows.push_back(static_cast<std::size_t>(end - begin));
    begin = end;
  }
  // Each worker has a row, so that its rate is known; it is taken from the largest part.
  for (std::size_t i = 0; i < parts.rows.size(); ++i) {
    if (shares[i] == 0 || parts.rows[i] > 0) continue;
    std::size_t& most = *std::max_element(parts.rows.begin(), parts.rows.end());
    if (most > 1) --most;
    parts.rows[i] = 1;
  }
  return parts;
}

/// Sets the shares of demoted workers to 0.
std::vector<PartsBySpeed::Demotion> PartsBySpeed::demote(const std::vector<int>& workers,
                                                         std::vector<double>& shares) {
  std::vector<Demotion> demotions;
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    WorkerRate& own = rate_of(workers[i]);
    const bool demoted_before = own.too_slow == kOften;
    if (!demoted_before) own.too_slow = shares[i] < kLeastPart * total ? own.too_slow + 1 : 0;
    if (own.too_slow < kOften) continue;
    if (!demoted_before) demotions.push_back({workers[i], shares[i] / total});
    shares[i] = 0;
  }
  return demotions;
}

}  // namespace evener
