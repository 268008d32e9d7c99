#include "evener/run/session/evaluate.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace evener {

namespace {

// Large enough to keep a device busy, small enough to react to a signal at once.
constexpr std::size_t kBatchRows = 512;

}  // namespace

std::optional<Predictions> predict_all(Replica& replica, const Dataset& data, std::uint32_t k,
                                       const std::function<bool()>& stop) {
  std::vector<std::uint32_t> rows(data.rows());
  std::iota(rows.begin(), rows.end(), 0U);
  Predictions predictions;
  predictions.k = std::min(k, data.label_count);
  for (std::size_t begin = 0; begin < rows.size(); begin += kBatchRows) {
    if (stop && stop()) return std::nullopt;
    const std::size_t count = std::min(kBatchRows, rows.size() - begin);
    replica.predict({&data, std::span(rows).subspan(begin, count)}, predictions);
    check_intact(data);
  }
  return predictions;
}

}  // namespace evener
