// The train command: its files, its output, and signals.
#include <algorithm>
#include <filesystem>
#include <map>

#include "tests/app/command.h"

#include "evener/run/options/config.h"

namespace evener {
namespace {

class TrainCommand : public CommandTest {
 protected:
  std::string model(const std::string& run, const std::string& which) const {
    return contents_of(folder_ / (run + "/" + which + ".safetensors"));
  }
  /// A run that writes far more than fits into the pipe, so it cannot end before the test reads.
  std::vector<std::string> long_training(const std::string& name) const {
    return training(name, {"--epochs", "150", "--eval-every", "10", "--dropout", "0.2"});
  }
  void expect_exact_resume(int signal) {
    ASSERT_EQ(run(long_training("whole")).code, 0);
    Running running(long_training("cut"), environment_, folder_ / "out");
    ASSERT_TRUE(running.wait_for("epoch 2/150"));
    running.send(signal);
    ASSERT_EQ(running.finish(), 128 + signal);
    EXPECT_THAT(running.stderr_text(),
                AllOf(HasSubstr("evener: stopping after a checkpoint; "),
                      HasSubstr("evener train --resume " + (folder_ / "cut"))));
    EXPECT_THAT(contents_of(folder_ / "out"),
                AllOf(HasSubstr("interrupted after "), Not(HasSubstr("final model:"))));

    const Outcome rest = run({"train", "--resume", folder_ / "cut"});
    ASSERT_EQ(rest.code, 0) << rest.err;
    EXPECT_THAT(rest.err, Not(HasSubstr("epoch 2/150")));
    EXPECT_EQ(model("cut", "last"), model("whole", "last"));
    EXPECT_EQ(model("cut", "best"), model("whole", "best"));
  }
};

TEST_F(TrainCommand, LeavesARunDirectory) {
  const Outcome outcome = run(training("run"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("finished after 5 epochs"), HasSubstr("P "),
                                 HasSubstr("best      P@1 ")));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("training on cpu:1 (100 rows, 20 features, 6 labels"),
                                 HasSubstr("epoch 5/5"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(names_in(folder_ / "run"),
              testing::IsSupersetOf({"best.safetensors", "last.safetensors", "checkpoints",
                                     "config.toml", "log.txt", "metrics.jsonl", "tensorboard"}));
  EXPECT_THAT(contents_of(folder_ / "run/log.txt"), HasSubstr("epoch 5/5"));
}

TEST_F(TrainCommand, OneIsSingularAndHeldOutRowsAreNoTestSet) {
  const Outcome outcome = run({"train", folder_ / "train.txt", "--validation-share", "0.2", "-o",
                               folder_ / "run", "--epochs", "1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("finished after 1 epoch, 1 step, "));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(" (validation "), Not(HasSubstr("(test "))));
  EXPECT_THAT(run(training("tested")).err, HasSubstr(" (test "));
}

TEST_F(TrainCommand, QuietAndJsonAreForMachines) {
  const Outcome outcome = run(training("run", {"--quiet", "--json"}));
  EXPECT_THAT(outcome.err, IsEmpty());
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result.at("run"), folder_ / "run");
  EXPECT_EQ(result.at("epochs"), 5);
  EXPECT_EQ(result.at("steps"), 35);
  EXPECT_TRUE(result.at("metrics").at("p@1").is_number());
  EXPECT_EQ(result.at("best").at("metric"), "p@1");
}

TEST_F(TrainCommand, WhatAutoDecidesIsKeptForMachines) {
  const Outcome outcome = run(training(
      "run", {"--devices", "cpu:1,cpu:1", "--epochs", "40", "--global-batch-size", "4", "--json"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json notes = json::parse(outcome.out).at("notes");
  const auto has = [&](const std::string& begin) {
    return std::any_of(notes.begin(), notes.end(), [&](const json& note) {
      return note.get<std::string>().starts_with(begin);
    });
  };
  EXPECT_TRUE(has("measured in ")) << notes;
  EXPECT_TRUE(has("decided: ")) << notes;
  for (const auto& note : notes) {
    EXPECT_THAT(outcome.err, HasSubstr(note.get<std::string>() + "\n"));
    EXPECT_THAT(contents_of(folder_ / "run/metrics.jsonl"), HasSubstr("\"text\":" + note.dump()));
  }
}

TEST_F(TrainCommand, CommandLineOverridesConfigOverridesDefaults) {
  put_contents(folder_ / "c.toml",
               "epochs = 2\nhidden = [4, 4]\nlearning_rate = 0.5\nseed = 9\ntest = \"" +
                   (folder_ / "test.txt") + "\"\n");
  const Outcome outcome =
      run({"train", folder_ / "train.txt", "-o", folder_ / "run", "--config", folder_ / "c.toml",
           "--learning_rate", "0.25", "--no-normalise", "--seed=3"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  TrainOptions options;
  apply_option_texts(read_config(folder_ / "run/config.toml"), options);
  EXPECT_EQ(options.epochs, 2U);
  EXPECT_EQ(options.hidden, (std::vector<std::uint32_t>{4, 4}));
  EXPECT_EQ(options.learning_rate, 0.25);
  EXPECT_EQ(options.seed, 3U);
  EXPECT_FALSE(options.normalise);
  EXPECT_EQ(options.optimizer, TrainOptions{}.optimizer);
  EXPECT_EQ(options.data, folder_ / "train.txt");

  // The written config file starts the same run.
  ASSERT_EQ(run({"train", "--config", folder_ / "run/config.toml", "-o", folder_ / "again"}).code,
            0);
  EXPECT_EQ(model("again", "last"), model("run", "last"));
}

TEST_F(TrainCommand, InterruptedAndResumedIsTheSameRun) {
  expect_exact_resume(SIGINT);
}

TEST_F(TrainCommand, TerminatedAndResumedIsTheSameRun) {
  expect_exact_resume(SIGTERM);
}

TEST_F(TrainCommand, HungUpAndResumedIsTheSameRun) {
  std::signal(SIGHUP, SIG_DFL);  // nohup, under which a suite may run, ignores it
  expect_exact_resume(SIGHUP);
}

TEST_F(TrainCommand, AFinishedRunHasNothingToResume) {
  const auto files = [this] {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "run")) {
      const std::string path = entry.path().string();
      if (entry.is_regular_file() && !path.ends_with(".lock")) all[path] = contents_of(path);
    }
    return all;
  };
  ASSERT_EQ(run(training("run")).code, 0);
  const auto before = files();
  const Outcome again = run({"train", "--resume", folder_ / "run"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out,
              AllOf(HasSubstr("already complete: all 5 epochs are done"),
                    HasSubstr("evener train --resume " + (folder_ / "run") + " --epochs 10\n")));
  const json result = json::parse(run({"train", "--resume", folder_ / "run", "--json"}).out);
  EXPECT_EQ(result.at("was_complete"), true);
  EXPECT_EQ(result.at("epochs"), 5);
  EXPECT_TRUE(result.at("metrics").contains("p@1"));
  EXPECT_EQ(files(), before);
  expect_error({"train", "--resume", folder_ / "run", "--epochs", "3"}, 2,
               "--epochs 3: the run has already done 5 epochs");
  // The printed command resumes the run.
  EXPECT_THAT(run({"train", "--resume", folder_ / "run", "--epochs", "6"}).out,
              HasSubstr("finished after 6 epochs"));
}

TEST_F(TrainCommand, ARunThatStoppedEarlyIsComplete) {
  ASSERT_EQ(run(training("run", {"--early-stop", "p@1", "--patience", "1", "--epochs", "50"})).code,
            0);
  EXPECT_THAT(
      run({"train", "--resume", folder_ / "run"}).out,
      AllOf(HasSubstr("already complete: it stopped early, after "), HasSubstr(" --patience 2\n")));
}

TEST_F(TrainCommand, TheExitCodeOfASignalDoesNotNeedAReader) {
  Running running(long_training("cut"), environment_, kClosedPipe);
  ASSERT_TRUE(running.wait_for("epoch 2/150"));
  running.send(SIGINT);
  EXPECT_EQ(running.finish(), 130);
}

TEST_F(TrainCommand, HelpSaysWhatASignalDoes) {
  EXPECT_THAT(run({"train", "--help"}).out,
              HasSubstr("Ctrl-C (or SIGTERM, SIGHUP) writes a checkpoint"));
}

TEST_F(TrainCommand, ARunInterruptedBeforeItsFirstStepDoesNotBlockItsDirectory) {
  // The lines about its many workers fill the pipe, so it blocks before it trains.
  std::string devices = "cpu:1";
  for (int i = 1; i < 800; ++i) devices += ",cpu:1";
  Running running(training("run", {"--devices", devices, "--strategy", "sync"}), environment_,
                  folder_ / "out");
  ASSERT_TRUE(running.wait_for("cpu:1 + cpu:1"));
  running.send(SIGINT);
  EXPECT_EQ(running.finish(), 130);
  ASSERT_TRUE(std::filesystem::exists(folder_ / "run/config.toml"));
  const Outcome again = run(training("run"));
  EXPECT_EQ(again.code, 0) << again.err;
}

TEST_F(TrainCommand, ASecondSignalEndsAtOnce) {
  Running running(long_training("cut"), environment_, folder_ / "out");
  ASSERT_TRUE(running.wait_for("epoch 2/150"));
  running.stop();  // so that both signals are pending at once
  running.send(SIGINT);
  running.send(SIGTERM);
  running.send(SIGCONT);
  EXPECT_THAT(running.finish(), testing::AnyOf(130, 143));
  EXPECT_THAT(running.stderr_text(), HasSubstr("once more ends at once, without one\n"));
  EXPECT_THAT(contents_of(folder_ / "out"), IsEmpty());
}

TEST_F(TrainCommand, AFolderHasItsTrainingAndTestData) {
  const Outcome outcome = run({"train", folder_.path(), "-o", folder_ / "run", "--epochs", "1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("P@1"));
  put_contents(folder_ / "train.txt.gz", "");
  const Outcome two = run({"train", folder_.path(), "-o", folder_ / "two"});
  EXPECT_EQ(two.code, 2);
  EXPECT_THAT(two.err, HasSubstr("holds both "));
}

TEST_F(TrainCommand, TheCacheIsWhereTheEnvironmentSays) {
  ASSERT_EQ(run(training("a", {"--no-cache"})).code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "cache"));
  ASSERT_EQ(run(training("b")).code, 0);
  EXPECT_FALSE(std::filesystem::is_empty(folder_ / "cache"));
  ASSERT_EQ(run(training("c", {"--cache-dir", folder_ / "other"})).code, 0);
  EXPECT_FALSE(std::filesystem::is_empty(folder_ / "other"));
  EXPECT_EQ(model("a", "last"), model("b", "last"));
  // Read from the source or mapped from the cache: the same bits.
  ASSERT_EQ(run(training("d")).code, 0);
  EXPECT_EQ(model("d", "last"), model("b", "last"));
}

TEST_F(TrainCommand, ACacheThatCannotBeWrittenIsAWarning) {
  put_contents(folder_ / "file", "");
  const Outcome outcome = run(training("run", {"--cache-dir", folder_ / "file/cache"}));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("evener: warning: "));
}

TEST_F(TrainCommand, DivergenceStopsWithTheReason) {
  const Outcome outcome =
      run(training("run", {"--optimizer", "sgd", "--learning-rate", "1e30", "--l2", "1"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("evener: error: "), HasSubstr("diverged"),
                                 HasSubstr("--learning-rate")));
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(run({"info", folder_ / "run"}).out,
              AllOf(HasSubstr("\nended               failed: "), HasSubstr("diverged")));
  const json end = json::parse(run({"info", folder_ / "run", "--json"}).out).at("end");
  EXPECT_EQ(end.at("ended"), "failed");
}

}  // namespace
}  // namespace evener
