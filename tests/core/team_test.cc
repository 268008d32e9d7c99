#include "evener/core/team.h"

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/sanitized.h"
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evener/core/error.h"

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

// In a process of its own: the limit is on its memory, from which stacks are taken.
TEST(Team, SaysHowManyThreadsCouldBeStarted) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs more address space than the limit leaves";
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{1 << 28, 1 << 28};
    setrlimit(RLIMIT_AS, &limit);
    int code = 1;
    try {
      Team team(1000);
    } catch (const Error& problem) {
      const std::string what = problem.what();
      const bool counts = what.starts_with("only ") && what.find(" of 1000 threads") < 12;
      code = counts && what.find("--devices cpu:") != std::string::npos ? 0 : 2;
    }
    _exit(code);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
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
