#include "evener/cluster/membership/progress_watch.h"

#include <gtest/gtest.h>

namespace evener {
namespace {

constexpr StallLimits kLimits{0, 10, 60, 600};

bool stalls(ProgressWatch& watch, Seconds now) {
  return !watch.check(now).empty();
}

TEST(ProgressWatch, TheFirstTaskMayTakeLong) {
  ProgressWatch watch(kLimits);
  watch.restart(0, 0);
  watch.heartbeat(0, 1, 1);
  EXPECT_FALSE(stalls(watch, 600));
  EXPECT_TRUE(stalls(watch, 601));
  EXPECT_FALSE(stalls(watch, 9999)) << "each is reported once";
}

TEST(ProgressWatch, TheLimitFollowsTheMembersOwnPace) {
  ProgressWatch watch(kLimits);
  watch.restart(0, 0);
  watch.complete(0, 1);
  watch.restart(1, 0);
  watch.complete(1, 20);  // ten times as long is more than the least limit
  const auto early = watch.check(61);
  ASSERT_EQ(early.size(), 1U);
  EXPECT_EQ(early.front().member, 0);
  EXPECT_EQ(early.front().pause, 60);
  EXPECT_FALSE(stalls(watch, 219));
  EXPECT_TRUE(stalls(watch, 220));
}

TEST(ProgressWatch, OnlyHeartbeatsWithANewCountAreProgress) {
  ProgressWatch watch(kLimits);
  watch.restart(0, 0);
  watch.complete(0, 0);
  for (int second = 1; second < 300; ++second) {
    watch.heartbeat(0, static_cast<std::uint64_t>(second), second);
    EXPECT_FALSE(stalls(watch, second));
  }
  for (int second = 300; second < 359; ++second) {
    watch.heartbeat(0, 299, second);
    EXPECT_FALSE(stalls(watch, second)) << second;
  }
  EXPECT_TRUE(stalls(watch, 359));
}

TEST(ProgressWatch, ARestartForgetsThePace) {
  ProgressWatch watch(kLimits);
  watch.restart(0, 0);
  watch.complete(0, 500);  // read its data, say
  watch.restart(0, 500);
  watch.complete(0, 501);
  EXPECT_TRUE(stalls(watch, 561));
}

TEST(ProgressWatch, AFixedLimitHoldsForAll) {
  ProgressWatch watch({.fixed = 5});
  watch.restart(0, 0);
  EXPECT_FALSE(stalls(watch, 4));
  EXPECT_TRUE(stalls(watch, 5));
  watch.restart(1, 0);
  watch.forget(1);
  watch.heartbeat(1, 1, 3);
  EXPECT_FALSE(stalls(watch, 100)) << "a member that was forgotten";
}

}  // namespace
}  // namespace evener
