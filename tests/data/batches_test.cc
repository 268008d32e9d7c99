#include "evener/data/batches.h"

#include <algorithm>
#include <numeric>

#include "tests/data/helpers.h"
#include <rapidcheck/gtest.h>

namespace evener {
namespace {

Dataset with_lengths(const std::vector<std::uint32_t>& lengths) {
  Rows rows;
  for (const std::uint32_t length : lengths) {
    auto& row = rows.emplace_back();
    for (std::uint32_t i = 0; i < length; ++i) row.emplace_back(i, 1.0F);
  }
  return dataset_from(rows, Labels(lengths.size()), 100, 1);
}

RC_GTEST_PROP(ShuffledRows, HoldEveryRowOnce, (std::uint64_t seed, std::uint64_t epoch)) {
  const auto rows = *rc::gen::inRange<std::size_t>(0, 300);
  auto order = shuffled_rows(rows, seed, epoch);
  RC_ASSERT(order == shuffled_rows(rows, seed, epoch));
  std::sort(order.begin(), order.end());
  std::vector<std::uint32_t> all(rows);
  std::iota(all.begin(), all.end(), 0U);
  RC_ASSERT(order == all);
}

TEST(ShuffledRows, DifferByEpochAndSeedAndNotByMachine) {
  EXPECT_NE(shuffled_rows(100, 1, 0), shuffled_rows(100, 1, 1));
  EXPECT_NE(shuffled_rows(100, 1, 0), shuffled_rows(100, 2, 0));
  // Fixed numbers: a change here breaks the resumption of every run.
  EXPECT_THAT(shuffled_rows(8, 7, 3), ::testing::ElementsAre(5, 2, 7, 6, 0, 3, 1, 4));
}

RC_GTEST_PROP(NextBatch, CoversEveryRowOnce, ()) {
  const auto lengths =
      *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 20));
  const Dataset data = with_lengths(lengths);
  const auto order = shuffled_rows(data.rows(), 1, 1);
  const auto size = *rc::gen::inRange<std::size_t>(1, 40);
  const auto balance = *rc::gen::element(Balance::rows, Balance::nonzeros);
  std::size_t begin = 0;
  while (begin < order.size()) {
    const std::size_t count = next_batch(data, order, begin, size, balance);
    RC_ASSERT(count > 0U);
    RC_ASSERT(begin + count <= order.size());
    if (balance == Balance::rows && begin + count < order.size()) RC_ASSERT(count == size);
    begin += count;
  }
  RC_ASSERT(next_batch(data, order, order.size(), size, balance) == 0U);
}

RC_GTEST_PROP(NextBatch, NonzerosAreWithinOneRowOfTheTarget, ()) {
  const auto lengths = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 20)));
  const Dataset data = with_lengths(lengths);
  const auto size = *rc::gen::inRange<std::size_t>(1, 10);
  const auto order = shuffled_rows(data.rows(), 1, 1);
  const double target = static_cast<double>(size) * static_cast<double>(data.features.nonzeros()) /
                        static_cast<double>(data.rows());
  const double longest = *std::max_element(lengths.begin(), lengths.end());
  for (std::size_t begin = 0; begin < order.size();) {
    const std::size_t count = next_batch(data, order, begin, size, Balance::nonzeros);
    double sum = 0;
    for (std::size_t i = begin; i < begin + count; ++i) sum += lengths[order[i]];
    begin += count;
    // At most half a row off. Exceptions: a batch has at least one row, and the last batch has the
    // remaining rows.
    RC_ASSERT(sum <= target + (count > 1 ? longest / 2 : longest));
    if (begin < order.size()) RC_ASSERT(sum >= target - longest / 2);
  }
}

TEST(NextBatch, LongRowsMakeSmallBatches) {
  const Dataset data = with_lengths({10, 10, 1, 1, 1, 1});  // 4 a row on average
  const std::vector<std::uint32_t> order{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(next_batch(data, order, 0, 2, Balance::nonzeros), 1U);
  EXPECT_EQ(next_batch(data, order, 2, 2, Balance::nonzeros), 4U);
  EXPECT_EQ(next_batch(data, order, 0, 2, Balance::rows), 2U);
  EXPECT_EQ(next_batch(data, order, 0, 5, Balance::nonzeros), 2U);
  EXPECT_EQ(next_batch(with_lengths({0, 0, 0}), order, 0, 2, Balance::nonzeros), 2U);
}

}  // namespace
}  // namespace evener
