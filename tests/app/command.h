// Runs the built command as a user's shell would.
#pragma once

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "tests/places.h"
#include "tests/run/session/easy_data.h"
#include "tests/run/support.h"
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace evener {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

struct Outcome {
  int code = 0;  // exit code; 128 + signal number if a signal ended the process
  std::string out, err;
};

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

constexpr const char* kClosedPipe = "(a pipe without a reader)";

/// A running command. Its standard error is a pipe of a single page: a command that writes more
/// than the test has read blocks, so that the test knows its position without timing.
class Running {
 public:
  /// `err_path`: a file for standard error instead.
  Running(std::vector<std::string> arguments, std::vector<std::string> environment,
          const std::string& out_path, const std::string& err_path = "") {
    int err[2];
    if (pipe2(err, O_CLOEXEC) != 0) throw Error("no pipe");
    fcntl(err[1], F_SETPIPE_SZ, 4096);
    const int out = open_output(out_path);
    if (!err_path.empty()) {
      close(err[1]);
      err[1] = open_output(err_path);
    }
    arguments.insert(arguments.begin(), EVENER_COMMAND);
    const auto argv = pointers(arguments);
    const auto envp = pointers(environment);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out, 1);
      dup2(err[1], 2);
      execve(argv[0], argv.data(), envp.data());
      _exit(127);
    }
    close(out);
    close(err[1]);
    err_ = err[0];
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    close(err_);
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  /// Reads standard error until it contains `text`; false if it ends before.
  bool wait_for(const std::string& text) {
    while (stderr_text_.find(text) == std::string::npos) {
      if (!read_some()) return false;
    }
    return true;
  }
  void send(int signal) { kill(pid_, signal); }
  void stop() {
    kill(pid_, SIGSTOP);
    waitpid(pid_, nullptr, WUNTRACED);
  }
  int finish() {
    while (read_some()) {
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string& stderr_text() const { return stderr_text_; }

 private:
  static int open_output(const std::string& path) {
    if (path != kClosedPipe) {
      return open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666);
    }
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error("no pipe");
    close(ends[0]);
    return ends[1];
  }
  static std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> result;
    for (auto& word : words) result.push_back(word.data());
    result.push_back(nullptr);
    return result;
  }
  bool read_some() {
    char buffer[256];
    ssize_t count = 0;
    do {
      count = read(err_, buffer, sizeof buffer);
    } while (count < 0 && errno == EINTR);
    if (count <= 0) return false;
    stderr_text_.append(buffer, static_cast<std::size_t>(count));
    return true;
  }

  pid_t pid_ = 0;
  int err_ = -1;
  std::string stderr_text_;
};

class CommandTest : public testing::Test {
 protected:
  CommandTest() {
    put_contents(folder_ / "train.txt", easy_data(100, 1));
    put_contents(folder_ / "test.txt", easy_data(40, 2));
    environment_ = {"EVENER_CACHE_DIR=" + (folder_ / "cache"), "OMP_NUM_THREADS=1"};
    // PoCL writes there; without it, it looks for the home folder of the account, which may be
    // none.
    if (const char* home = std::getenv("HOME")) environment_.push_back(std::string("HOME=") + home);
  }

  Outcome run(const std::vector<std::string>& arguments, const std::string& out = "") {
    const std::string out_path = out.empty() ? folder_ / "stdout" : out;
    Running running(arguments, environment_, out_path);
    Outcome outcome;
    outcome.code = running.finish();
    outcome.err = running.stderr_text();
    if (out.empty()) outcome.out = contents_of(out_path);
    return outcome;
  }
  /// One line on standard error that has `part`, and nothing on standard output.
  void expect_error(const std::vector<std::string>& arguments, int code, const std::string& part) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_THAT(outcome.err,
                testing::AllOf(testing::StartsWith("evener: error: "), testing::HasSubstr(part)));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_THAT(outcome.out, testing::IsEmpty());
  }
  /// Arguments of a short training run into `name`.
  std::vector<std::string> training(const std::string& name,
                                    const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"train",
                                 folder_ / "train.txt",
                                 "--test",
                                 folder_ / "test.txt",
                                 "-o",
                                 folder_ / name,
                                 "--hidden",
                                 "8",
                                 "--epochs",
                                 "5",
                                 "--learning-rate",
                                 "0.02",
                                 "--global-batch-size",
                                 "16",
                                 "--reference-batch",
                                 "16"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  Folder folder_;
  std::vector<std::string> environment_;
};

}  // namespace evener
