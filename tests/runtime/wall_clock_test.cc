#include "evener/runtime/wall_clock.h"

#include <cstdint>
#include <fstream>
#include <string>

#include "tests/runtime/fakes.h"
#include "tests/runtime/small_setup.h"
#include "tests/sanitized.h"
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evener/core/error.h"

namespace evener {
namespace {

/// The exit code of a process that can start only a few of the threads: it has no memory for the
/// stacks of more.
int start_threads(Models& models) {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (1U << 27);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
  try {
    make_wall_clock(models, 1000);
  } catch (const Error& problem) {
    const std::string what = problem.what();
    const bool some = what.starts_with("only ") && !what.starts_with("only 0");
    return some && what.find(" of 1000 device threads could be started (") < 12 ? 0 : 2;
  }
  return 1;
}

TEST(WallClock, SaysHowManyThreadsCouldBeStarted) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs more address space than the limit leaves";
  const Dataset data = small_data(10);
  EngineSetup setup = small_setup(data, "sequential", 1);
  setup.devices.push_back(make_device("cpu:1"));
  Engine engine(std::move(setup));
  const pid_t child = fork();
  if (child == 0) _exit(start_threads(engine.models()));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace evener
