#include "evener/data/batches.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "evener/core/error.h"
#include "evener/core/random.h"

namespace evener {

std::vector<std::uint32_t> shuffled_rows(std::size_t rows, std::uint64_t seed,
                                         std::uint64_t epoch) {
  if (rows > 0xFFFFFFFF) throw Error("a data set can have at most 4294967295 rows");
  std::vector<std::uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0U);
  Random(seed, epoch).shuffle(std::span(order));
  return order;
}

// By non-zeros: rows are added while that brings the sum nearer to its target. So a batch misses
// the target by at most half of its longest row, except for the last batch of an epoch. (All sums
// are scaled by the number of rows, which keeps the mean in integers.)
std::size_t next_batch(const Dataset& data, std::span<const std::uint32_t> order, std::size_t begin,
                       std::size_t size, Balance balance) {
  assert(size > 0 && begin <= order.size());
  const std::size_t left = order.size() - begin;
  const auto total = static_cast<Wide>(data.features.nonzeros());
  if (balance == Balance::rows || total == 0) return std::min(size, left);
  const Wide rows = data.rows();
  const Wide target = total * size;
  Wide sum = 0;
  std::size_t count = 0;
  for (; count < left; ++count) {
    const std::uint32_t row = order[begin + count];
    const Wide more = rows * (data.features.offsets[row + 1] - data.features.offsets[row]);
    if (count > 0 && sum + more > target && sum + more - target > target - sum) break;
    sum += more;
    if (sum >= target) return count + 1;
  }
  return count;
}

}  // namespace evener
