#include "evener/run/compare/worker_series.h"

#include <algorithm>

namespace evener {

namespace {

constexpr std::size_t kMoments = 100;  // points in a worker's series

}  // namespace

std::vector<std::vector<WorkerPoint>> worker_series(const Timeline& timeline) {
  std::vector<std::vector<WorkerPoint>> series(timeline.names().size());
  double end = 0;
  for (const auto& entry : timeline.entries()) end = std::max(end, entry.end);
  const double length = std::max(end, 1e-9) / kMoments;
  struct Sums {
    double rows = 0, steps = 0, compute = 0, transfer = 0;
  };
  std::vector<std::vector<Sums>> sums(series.size(), std::vector<Sums>(kMoments));
  const auto moment_of = [&](double time) {
    return std::min(kMoments - 1, static_cast<std::size_t>(std::max(time, 0.0) / length));
  };
  for (const auto& entry : timeline.entries()) {
    if (entry.worker < 0) continue;
    auto& of_worker = sums[static_cast<std::size_t>(entry.worker)];
    of_worker[moment_of(entry.end)].rows += static_cast<double>(entry.rows);
    of_worker[moment_of(entry.end)].steps += static_cast<double>(entry.steps);
    // Its time belongs to all moments that it spans.
    const double takes = std::max(entry.end - entry.begin, 1e-12);
    for (std::size_t m = moment_of(entry.begin); m <= moment_of(entry.end); ++m) {
      const double from = std::max(entry.begin, static_cast<double>(m) * length);
      const double to = std::min(entry.end, static_cast<double>(m + 1) * length);
      const double share = std::max(0.0, to - from) / takes;
      of_worker[m].transfer += share * entry.transfer;
      of_worker[m].compute += share * (takes - entry.transfer);
    }
  }
  for (std::size_t worker = 0; worker < series.size(); ++worker) {
    double updates = 0;
    for (std::size_t moment = 0; moment < kMoments; ++moment) {
      const Sums& at = sums[worker][moment];
      updates += at.steps;
      series[worker].push_back(
          {static_cast<double>(moment + 1) * length, at.steps > 0 ? at.rows / at.steps : 0, updates,
           std::min(1.0, at.compute / length), std::min(1.0, at.transfer / length)});
    }
  }
  return series;
}

}  // namespace evener
