#include "evener/run/artifacts/run_directory.h"

#include <cstdlib>
#include <future>
#include <set>

#include "tests/run/support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace evener {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using Open = RunDirectory::Open;

TEST(RunDirectory, IsCreatedWithItsParentsAndNamesItsParts) {
  const Folder folder;
  const RunDirectory run(folder / "runs/a", Open::create);
  EXPECT_TRUE(std::filesystem::is_directory(folder / "runs/a"));
  EXPECT_EQ(run.path(), folder / "runs/a");
  EXPECT_EQ(run.config(), folder / "runs/a/config.toml");
  EXPECT_EQ(run.metrics(), folder / "runs/a/metrics.jsonl");
  EXPECT_EQ(run.log(), folder / "runs/a/log.txt");
  EXPECT_EQ(run.checkpoints(), folder / "runs/a/checkpoints");
  EXPECT_EQ(run.tensorboard(), folder / "runs/a/tensorboard");
  EXPECT_EQ(run.best_model(), folder / "runs/a/best.safetensors");
  EXPECT_EQ(run.last_model(), folder / "runs/a/last.safetensors");
}

TEST(RunDirectory, ANewRunRefusesADirectoryThatIsNotEmpty) {
  const Folder folder;
  put_contents(folder / "thesis.tex", "precious");
  EXPECT_THROW(RunDirectory(folder.path(), Open::create), UsageError);
  EXPECT_THAT(error_of([&] { RunDirectory(folder.path(), Open::create); }),
              HasSubstr(folder.path() + ": exists and is not empty"));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("thesis.tex"));
}

TEST(RunDirectory, ANewRunTakesAnEmptyDirectoryAndOneWithoutSteps) {
  const Folder folder;
  { const RunDirectory run(folder.path(), Open::create); }
  { const RunDirectory run(folder.path(), Open::create); }
  {
    const RunDirectory run(folder.path(), Open::create);
    put_contents(run.config(), "x");
    put_contents(run.metrics(), "{\"kind\":\"note\",\"text\":\"left out: cpu\"}\n");
  }
  {
    const RunDirectory run(folder.path(), Open::create);
    EXPECT_THAT(names_in(folder.path()), ElementsAre(".lock")) << "it never trained";
    put_contents(run.metrics(), "{\"kind\":\"step\",\"train_loss\":1}\n");
  }
  EXPECT_THROW(RunDirectory(folder.path(), Open::create), UsageError);
}

TEST(RunDirectory, OnlyWhatARunWritesBeforeItsFirstStepMayBeReplaced) {
  const Folder folder;
  for (const char* file : {"checkpoints", "last.safetensors", "thesis.tex"}) {
    const std::string path = folder / (std::string("run-") + file);
    { const RunDirectory run(path, Open::create); }
    put_contents(path + "/config.toml", "x");
    EXPECT_TRUE(never_trained(path));
    put_contents(path + "/" + file, "precious");
    EXPECT_FALSE(never_trained(path));
    EXPECT_THROW(RunDirectory(path, Open::create), UsageError) << file;
  }
}

TEST(RunDirectory, ResumingNeedsARunAndClearsTemporaries) {
  const Folder folder;
  EXPECT_THROW(RunDirectory(folder / "none", Open::resume), UsageError);
  EXPECT_FALSE(std::filesystem::exists(folder / "none"));
  put_contents(folder / "config.toml", "x");
  put_contents(folder / "best.safetensors.tmp123.0", "half");
  const RunDirectory run(folder.path(), Open::resume);
  EXPECT_THAT(names_in(folder.path()), ElementsAre(".lock", "config.toml"));
}

TEST(RunDirectory, ReportsWhatTheSystemRefuses) {
  const Folder folder;
  put_contents(folder / "file", "");
  EXPECT_THAT(error_of([&] { RunDirectory(folder / "file/run", Open::create); }),
              HasSubstr("cannot create: Not a directory"));
}

/// A child process that holds the directory until it is killed.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    int ready[2];
    if (pipe(ready) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      const RunDirectory run(path, Open::create);
      if (write(ready[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    close(ready[1]);
    char byte = 0;
    ready_ = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() { kill_now(); }
  void kill_now() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }
  bool ready() const { return ready_; }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
};

TEST(RunDirectory, OnlyOneProcessTrainsIntoIt) {
  const Folder folder;
  Holder other(folder / "run");
  ASSERT_TRUE(other.ready());
  const std::string expected =
      folder / "run: process " + std::to_string(other.pid()) + " is training into it";
  EXPECT_EQ(error_of([&] { RunDirectory(folder / "run", Open::create); }), expected);
  EXPECT_EQ(error_of([&] { RunDirectory(folder / "run", Open::resume); }), expected);
  other.kill_now();
  EXPECT_EQ(error_of([&] { RunDirectory(folder / "run", Open::resume); }), "");
}

TEST(RunDirectory, RunsOfTheSameSecondGetDifferentNames) {
  const Folder folder;
  const std::string name = folder / "runs/data-20260101-120000";
  std::vector<std::future<std::string>> runs;
  for (int i = 0; i < 8; ++i) {
    runs.push_back(std::async(std::launch::async, [&] { return make_free_directory(name); }));
  }
  std::set<std::string> made;
  for (auto& run : runs) made.insert(run.get());
  std::set<std::string> expected{name};
  for (int i = 2; i <= 8; ++i) expected.insert(name + "-" + std::to_string(i));
  EXPECT_EQ(made, expected);
  const RunDirectory run(name, Open::create);  // created, and empty
}

TEST(RunDirectory, DefaultNameSaysWhatAndWhen) {
  EXPECT_THAT(default_run_directory("debian-tags", 1'700'000'000),
              MatchesRegex("runs/debian-tags-202311[0-9]{2}-[0-9]{4}20"));
  EXPECT_THAT(default_run_directory("../a b/c", 1'700'000'000),
              MatchesRegex("runs/\\.\\.-a-b-c-2023.*"));
}

}  // namespace
}  // namespace evener
