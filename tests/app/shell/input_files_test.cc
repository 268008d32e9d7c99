// Input that is not an ordinary file: pipes, devices, folders, closed standard descriptors, byte
// order marks.
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/app/command.h"
#include <sys/stat.h>

namespace evener {
namespace {

namespace fs = std::filesystem;

constexpr const char* kByteOrderMark = "\xEF\xBB\xBF";

class InputFiles : public CommandTest {
 protected:
  InputFiles() {
    EXPECT_EQ(mkfifo(pipe_.c_str(), 0600), 0);
    put_contents(cluster_, kCluster);
  }
  /// The exit code of the command with `redirection`, as a shell understands it.
  int run_in_shell(const std::vector<std::string>& arguments, const std::string& redirection) {
    std::string line = "exec env";
    for (const auto& variable : environment_) line += " '" + variable + "'";
    line += std::string(" '") + EVENER_COMMAND + "'";
    for (const auto& argument : arguments) line += " '" + argument + "'";
    const int status = std::system((line + " " + redirection).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::vector<std::string> simulation(const std::string& cluster) const {
    return {"simulate", cluster, folder_ / "train.txt", "--hidden",    "4",
            "--epochs", "1",     "--strategy",          "adaptive-sgd"};
  }

  static constexpr const char* kCluster = "[[device]]\nkind = \"cpu\"\nfixed-ms = 1.0\n";
  const std::string pipe_ = folder_ / "pipe";
  const std::string cluster_ = folder_ / "cluster.toml";
};

// Without a writer a pipe is refused; without the check these commands would wait for ever.
TEST_F(InputFiles, APipeWithoutAWriterIsRefused) {
  ASSERT_EQ(run(training("run")).code, 0);
  const std::string regular = pipe_ + ": is not a regular file";
  const std::string nothing = pipe_ + ": is a pipe to which no process has written";
  expect_error({"info", pipe_}, 1, regular);
  expect_error({"train", pipe_, "-o", folder_ / "other"}, 1, regular);
  expect_error({"train", folder_ / "train.txt", "--test", pipe_, "-o", folder_ / "other"}, 1,
               regular);
  expect_error({"test", folder_ / "run", pipe_}, 1, regular);
  expect_error({"predict", folder_ / "run", pipe_}, 1, regular);
  expect_error({"test", pipe_, folder_ / "test.txt"}, 1, regular);
  expect_error({"convert", pipe_, folder_ / "out.evd"}, 1, regular);
  expect_error({"dataset", "debian-tags", "--index", pipe_, "-o", folder_ / "tags"}, 1, regular);
  expect_error(training("other", {"--config", pipe_}), 2, regular);
  expect_error(simulation(pipe_), 2, nothing);
  expect_error({"worker", "--coordinator", "127.0.0.1:1", "--token-file", pipe_}, 2,
               "--token-file " + nothing);
  EXPECT_FALSE(fs::exists(folder_ / "other"));
}

TEST_F(InputFiles, AnEndlessDeviceOrAFolderIsRefused) {
  ASSERT_EQ(run(training("run")).code, 0);
  expect_error({"info", "/dev/zero"}, 1, "/dev/zero: is not a regular file");
  expect_error({"train", "/dev/zero", "-o", folder_ / "other"}, 1, "is not a regular file");
  expect_error({"predict", folder_ / "run", "/dev/zero"}, 1, "is not a regular file");
  for (const std::string& path : {std::string("/dev/zero"), folder_.path()}) {
    const std::string part = path == "/dev/zero" ? "is not a regular file or a pipe" : "directory";
    expect_error(training("other", {"--config", path}), 2, path + ": is not a regular file");
    expect_error(simulation(path), 2, part);
    expect_error({"worker", "--coordinator", "127.0.0.1:1", "--token-file", path}, 2, part);
  }
}

TEST_F(InputFiles, NamesInAPipeAreRefused) {
  fs::rename(pipe_, folder_ / "labels.txt");
  put_contents(folder_ / "names.txt", "2 3 2\n0 0:1\n1 1:1\n");
  expect_error({"info", folder_ / "names.txt"}, 1, "labels.txt: is not a regular file");
}

// `evener simulate <(command)` of a shell has such a pipe.
TEST_F(InputFiles, ADescriptionOfDevicesIsReadFromAPipe) {
  std::thread writer([&] { put_contents(pipe_, kCluster); });  // waits for a reader
  // A reader that is there from the start: the command finds a pipe with content.
  const int reader = open(pipe_.c_str(), O_RDONLY | O_CLOEXEC);
  writer.join();
  const Outcome outcome = run(simulation(pipe_));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  close(reader);
}

TEST_F(InputFiles, AByteOrderMarkIsSkipped) {
  const auto mark = [](const std::string& path) {
    put_contents(path, kByteOrderMark + contents_of(path));
  };
  const std::string before = run({"info", folder_ / "train.txt"}).out;
  mark(folder_ / "train.txt");
  const Outcome after = run({"info", folder_ / "train.txt"});
  EXPECT_EQ(after.out, before) << after.err;
  put_contents(folder_ / "config.toml", std::string(kByteOrderMark) + "epochs = 2\n");
  mark(cluster_);
  EXPECT_EQ(run(simulation(cluster_)).code, 0);
  const Outcome configured = run({"train", folder_ / "train.txt", "-o", folder_ / "run", "--config",
                                  folder_ / "config.toml", "--hidden", "4"});
  EXPECT_EQ(configured.code, 0) << configured.err;
}

// `info` and a new run read what an earlier run has left.
TEST_F(InputFiles, PipesInARunDirectoryAreNotOpened) {
  ASSERT_EQ(run(training("run")).code, 0);
  for (const char* name : {"metrics.jsonl", "trace.json"}) {
    const std::string path = folder_ / "run" + "/" + name;
    fs::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  }
  const Outcome info = run({"info", folder_ / "run"});
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_THAT(info.out, HasSubstr("strategy"));
  expect_error(training("run"), 2, "run: holds a run already");
  // With the names of a run that never trained, too.
  fs::create_directory(folder_ / "early");
  put_contents(folder_ / "early/.lock", "");
  fs::rename(folder_ / "run/metrics.jsonl", folder_ / "early/metrics.jsonl");
  expect_error(training("early"), 2, "early: exists and is not empty");
  EXPECT_TRUE(fs::is_fifo(folder_ / "early/metrics.jsonl"));
}

// A file that a run opens would get the number 2, and the progress display with it.
TEST_F(InputFiles, ProgressIsNotWrittenIntoAnotherFile) {
  for (const std::string closed : {"2>&-", "<&- 2>&-"}) {
    SCOPED_TRACE(closed);
    const std::string path = folder_ / "run";
    fs::remove_all(path);
    ASSERT_EQ(run_in_shell(training("run"), ">'" + (folder_ / "stdout") + "' " + closed), 0);
    EXPECT_THAT(contents_of(path + "/.lock"), testing::MatchesRegex("[0-9]+"));
    for (const auto& line : lines_of(contents_of(path + "/metrics.jsonl"))) {
      EXPECT_TRUE(json::parse(line, nullptr, false).is_object()) << line;
    }
    for (const auto& line : lines_of(contents_of(path + "/log.txt"))) {
      EXPECT_THAT(line, testing::MatchesRegex("[0-9-]+T[0-9:]+Z .*"));
    }
    EXPECT_EQ(run({"test", path, folder_ / "test.txt"}).code, 0);
  }
}

TEST_F(InputFiles, AClosedStandardOutputIsAnError) {
  ASSERT_EQ(run(training("run")).code, 0);
  const std::string errors = folder_ / "errors";
  EXPECT_EQ(
      run_in_shell({"test", folder_ / "run", folder_ / "test.txt"}, "<&- >&- 2>'" + errors + "'"),
      1);
  EXPECT_THAT(contents_of(errors), HasSubstr("cannot write to standard output"));
}

}  // namespace
}  // namespace evener
