#include "evener/core/finite.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace evener {
namespace {

TEST(AllFinite, FindsOneAnywhere) {
  using Limits = std::numeric_limits<float>;
  for (std::size_t size = 0; size < 70; ++size) {
    std::vector<float> values(size, Limits::max());
    if (size > 1) values[1] = Limits::denorm_min();
    EXPECT_TRUE(all_finite(values));
    for (std::size_t at = 0; at < size; ++at) {
      for (const float bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
        std::vector<float> spoiled = values;
        spoiled[at] = bad;
        EXPECT_FALSE(all_finite(spoiled)) << at << " of " << size;
      }
    }
  }
}

}  // namespace
}  // namespace evener
