#include "evener/cluster/membership/heartbeats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evener {

bool operator==(const Heartbeats::Change& a, const Heartbeats::Change& b) {
  return a.member == b.member && a.verdict == b.verdict;
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Verdict = Heartbeats::Verdict;

TEST(Heartbeats, ASilentMemberIsSuspectedOnceAndThenEvicted) {
  Heartbeats beats({1, 3, 10});
  beats.heard(4, 0);
  beats.heard(5, 0);
  EXPECT_THAT(beats.check(2.9), IsEmpty());
  beats.heard(5, 2.9);
  EXPECT_THAT(beats.check(3), ElementsAre(Heartbeats::Change{4, Verdict::suspected}));
  EXPECT_THAT(beats.check(5.8), IsEmpty());
  EXPECT_THAT(beats.check(10), ElementsAre(Heartbeats::Change{4, Verdict::evicted},
                                           Heartbeats::Change{5, Verdict::suspected}));
  EXPECT_THAT(beats.check(11), IsEmpty()) << "an evicted member is forgotten";
}

TEST(Heartbeats, AMessageEndsTheSuspicion) {
  Heartbeats beats({1, 3, 10});
  EXPECT_FALSE(beats.heard(1, 0));
  beats.check(4);
  EXPECT_TRUE(beats.heard(1, 4.5));
  EXPECT_FALSE(beats.heard(1, 5));
  EXPECT_THAT(beats.check(7.9), IsEmpty());
  EXPECT_THAT(beats.check(8), ElementsAre(Heartbeats::Change{1, Verdict::suspected}));
}

TEST(Heartbeats, AMemberThatLeavesIsForgotten) {
  Heartbeats beats({1, 3, 10});
  beats.heard(1, 0);
  beats.forget(1);
  EXPECT_THAT(beats.check(100), IsEmpty());
}

}  // namespace
}  // namespace evener
