#include "evener/core/team.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace evener {
namespace {

TEST(Team, EveryMemberRunsOncePerCall) {
  for (const int size : {1, 2, 5}) {
    Team team(size);
    std::vector<int> runs(static_cast<std::size_t>(size));
    for (int call = 0; call < 200; ++call) {
      team.run([&](int member) { ++runs[static_cast<std::size_t>(member)]; });
    }
    for (const int count : runs) EXPECT_EQ(count, 200);
  }
}

TEST(Team, BarrierSeparatesPhases) {
  Team team(3);
  std::atomic<int> first{0};
  std::atomic<bool> early{false};
  team.run([&](int) {
    for (int phase = 1; phase <= 100; ++phase) {
      ++first;
      team.barrier();
      if (first.load() != 3 * phase) early = true;
      team.barrier();
    }
  });
  EXPECT_FALSE(early.load());
}

TEST(Team, RethrowsTheExceptionOfAMemberAndContinues) {
  Team team(2);
  EXPECT_THROW(team.run([](int member) {
    if (member == 1) throw std::runtime_error("member");
  }),
               std::runtime_error);
  std::atomic<int> runs{0};
  team.run([&](int) { ++runs; });
  EXPECT_EQ(runs.load(), 2);
}

TEST(ShareOf, CoversEverythingOnceAtUnits) {
  for (const std::size_t total : {0UL, 1UL, 7UL, 64UL, 1000UL}) {
    for (const int members : {1, 2, 3, 8}) {
      std::size_t next = 0;
      for (int member = 0; member < members; ++member) {
        const auto [begin, end] = share_of(total, members, member, 16);
        EXPECT_EQ(begin, next);
        EXPECT_TRUE(end == total || end % 16 == 0);
        next = end;
      }
      EXPECT_EQ(next, total);
    }
  }
}

}  // namespace
}  // namespace evener
