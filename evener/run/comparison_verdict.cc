// What a comparison comes to, for its text, its JSON and its page alike.
#include <algorithm>
#include <limits>

#include "evener/run/compare.h"
#include "evener/run/svg_chart.h"

namespace evener {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What a strategy is ranked by, so that less is better.
struct Rank {
  double time, loss;
};

Rank rank_of(const ComparedStrategy& strategy, bool larger_is_better) {
  const double time = strategy.time_to_target().median;
  const double quality = strategy.final_quality().median;
  return {is_showable(time) ? time : kInfinity, !is_showable(quality) ? kInfinity
                                                : larger_is_better    ? -quality
                                                                      : quality};
}

/// "Never" is no number: where one has no run that got there, there is nothing to overlap.
bool overlap(const Spread& a, const Spread& b) {
  return std::max(a.low, b.low) < kInfinity && a.low <= b.high && b.low <= a.high;
}

}  // namespace

Verdict Comparison::verdict() const {
  std::vector<std::pair<Rank, const ComparedStrategy*>> ranked;
  for (const ComparedStrategy& strategy : strategies) {
    const Rank rank = rank_of(strategy, larger_is_better);
    const bool any = !strategy.runs.empty() && (rank.time < kInfinity || rank.loss < kInfinity);
    if (any) ranked.emplace_back(rank, &strategy);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    return a.first.time != b.first.time ? a.first.time < b.first.time : a.first.loss < b.first.loss;
  });
  Verdict verdict;
  if (ranked.empty()) return verdict;
  verdict.best = ranked[0].second;
  verdict.by_time = ranked[0].first.time < kInfinity;
  if (ranked.size() == 1) return verdict;
  verdict.next = ranked[1].second;
  verdict.too_close = verdict.by_time
                          ? overlap(verdict.best->time_to_target(), verdict.next->time_to_target())
                          : overlap(verdict.best->final_quality(), verdict.next->final_quality());
  return verdict;
}

}  // namespace evener
