// The verdict of a comparison, used by its text, JSON and HTML.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "evener/run/compare/compare.h"
#include "evener/run/report/svg_chart.h"

namespace evener {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The ranking value of a strategy; less is better.
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

/// Ranges overlap only if both strategies have runs that reach the target.
bool overlap(const MedianRange& a, const MedianRange& b) {
  return std::max(a.low, b.low) < kInfinity && a.low <= b.high && b.low <= a.high;
}

MedianRange spread(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const double upper = values[values.size() / 2], lower = values[(values.size() - 1) / 2];
  return {upper == lower ? upper : (upper + lower) / 2, values.front(), values.back()};
}

/// The spread of value_of(run); runs without a value are left out.
template <class F>
MedianRange spread_over(const std::vector<ComparedRun>& runs, F value_of) {
  std::vector<double> values;
  for (const auto& run : runs) {
    if (const std::optional<double> value = value_of(run)) values.push_back(*value);
  }
  return spread(std::move(values));
}

CurvePoint last_point(const ComparedRun& run) {
  return run.curve.empty() ? CurvePoint{} : run.curve.back();
}

}  // namespace

std::size_t ComparedStrategy::reached() const {
  return static_cast<std::size_t>(std::count_if(
      runs.begin(), runs.end(), [](const auto& run) { return run.seconds_to_target.has_value(); }));
}

MedianRange ComparedStrategy::time_to_target() const {
  return spread_over(runs,
                     [](const auto& run) { return run.seconds_to_target.value_or(kInfinity); });
}

MedianRange ComparedStrategy::best_quality() const {
  return spread_over(runs, [](const auto& run) { return run.best_quality; });
}

MedianRange ComparedStrategy::final_quality() const {
  return spread_over(runs, [](const auto& run) { return run.final_quality; });
}

MedianRange ComparedStrategy::samples_per_second() const {
  return spread_over(runs, [](const auto& run) { return run.samples_per_second; });
}

MedianRange ComparedStrategy::epochs() const {
  return spread_over(runs, [](const auto& run) { return run.epochs; });
}

MedianRange ComparedStrategy::bytes() const {
  return spread_over(runs, [](const auto& run) {
    return static_cast<double>(last_point(run).communication.bytes);
  });
}

MedianRange ComparedStrategy::exchanges() const {
  return spread_over(runs, [](const auto& run) {
    return static_cast<double>(last_point(run).communication.exchanges);
  });
}

std::optional<MedianRange> ComparedStrategy::distance() const {
  if (std::none_of(runs.begin(), runs.end(),
                   [](const auto& run) { return last_point(run).distance.has_value(); })) {
    return std::nullopt;
  }
  return spread_over(runs, [](const auto& run) { return last_point(run).distance; });
}

MedianRange Comparison::budget() const {
  std::vector<double> budgets;
  for (const auto& strategy : strategies) {
    for (const auto& run : strategy.runs) budgets.push_back(run.budget);
  }
  return spread(std::move(budgets));
}

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
  verdict.one_seed = verdict.best->runs.size() == 1;
  if (ranked.size() == 1) return verdict;
  verdict.next = ranked[1].second;
  verdict.too_close = verdict.by_time
                          ? overlap(verdict.best->time_to_target(), verdict.next->time_to_target())
                          : overlap(verdict.best->final_quality(), verdict.next->final_quality());
  return verdict;
}

}  // namespace evener
