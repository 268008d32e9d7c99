#include "evener/cluster/membership/line_limit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace evener {
namespace {

TEST(LineLimit, AllowsALineOnceASecond) {
  LineLimit limit;
  EXPECT_TRUE(limit.allows("no token", 5));
  EXPECT_FALSE(limit.allows("no token", 5.1));
  EXPECT_FALSE(limit.allows("no token", 5.9));
  EXPECT_TRUE(limit.allows("another protocol", 5.9));
  EXPECT_TRUE(limit.allows("no token", 6));
  EXPECT_FALSE(limit.allows("another protocol", 6.5));
}

/// A stranger can make the texts differ.
TEST(LineLimit, AllowsTenDifferentLinesASecond) {
  LineLimit limit;
  int allowed = 0;
  for (int i = 0; i < 1000; ++i) allowed += limit.allows(fmt::format("version {}", i), 0.5) ? 1 : 0;
  EXPECT_EQ(allowed, 10);
  EXPECT_TRUE(limit.allows("version 0", 1.6));
}

}  // namespace
}  // namespace evener
