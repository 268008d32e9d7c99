#include "evener/run/report/worker_result.h"

#include <algorithm>

namespace evener {

std::vector<WorkerResult> worker_results(const Timeline& timeline, double seconds) {
  const double total = std::max(seconds, 1e-9);
  std::vector<WorkerResult> results;
  for (std::size_t i = 0; i < timeline.names().size(); ++i) {
    const WorkerTotals& totals = timeline.totals()[i];
    const auto tasks = static_cast<double>(std::max<std::uint64_t>(totals.tasks, 1));
    results.push_back({timeline.names()[i], totals.tasks, totals.updates, totals.rows,
                       totals.last_batch, totals.compute / total, totals.transfer / total,
                       totals.staleness_sum / tasks, totals.bytes, totals.rejected, totals.lost,
                       totals.staleness_counts, totals.exchanges, totals.was_present});
  }
  return results;
}

}  // namespace evener
