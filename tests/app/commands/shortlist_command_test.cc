// The commands with the shortlist head.
#include <algorithm>

#include "tests/app/command.h"
#include <fmt/format.h>

namespace evener {
namespace {

class ShortlistCommand : public CommandTest {
 protected:
  std::vector<std::string> shortlist(const std::string& name,
                                     const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"train", folder_ / "train.txt", "--test", folder_ / "test.txt",
                                 "-o",    folder_ / name,        "--head", "shortlist"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(ShortlistCommand, TrainsTestsPredictsAndDescribes) {
  const Outcome trained = run(shortlist("run", {"--json"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err,
              AllOf(HasSubstr("training on cpu:1"), HasSubstr("candidate labels a row"),
                    HasSubstr("preparation: "), HasSubstr("epoch 5/5")));
  const Outcome tested =
      run({"test", folder_ / "run/last.safetensors", folder_ / "test.txt", "--json"});
  ASSERT_EQ(tested.code, 0) << tested.err;
  EXPECT_EQ(json::parse(tested.out), json::parse(trained.out).at("metrics"));
  const Outcome predicted = run({"predict", folder_ / "run", folder_ / "test.txt", "-k", "2"});
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_EQ(std::count(predicted.out.begin(), predicted.out.end(), '\n'), 40);
  const Outcome info = run({"info", folder_ / "run/best.safetensors", "--json"});
  ASSERT_EQ(info.code, 0) << info.err;
  EXPECT_EQ(json::parse(info.out).at("head"), "shortlist");
  EXPECT_EQ(json::parse(info.out).at("indexed_rows"), 100);
}

TEST_F(ShortlistCommand, RefusesOptionsOfTheOtherHead) {
  expect_error(shortlist("a", {"--loss", "softmax"}), 2, "--loss needs --head full");
  expect_error(shortlist("b", {"--optimizer", "adam"}), 2, "--optimizer needs --head full");
  expect_error({"train", folder_ / "train.txt", "--head", "full", "--ablate", "linear"}, 2,
               "--ablate needs --head shortlist");
  expect_error(shortlist("c", {"--ablate", "wheels"}), 2, "--ablate");
  expect_error({"compare", folder_ / "train.txt", "--head", "full"}, 2,
               "--head: a comparison trains the full head");
  expect_error({"train", folder_ / "train.txt", "--nodes", "2", "--head", "shortlist"}, 2,
               "--head: nodes train the full head");
}

/// 1200 rows, 120 labels, several a row: data for the shortlist head.
std::string many_labels() {
  std::string text = "1200 200 120\n";
  for (int row = 0; row < 1200; ++row) {
    const int a = row % 120, b = (row * 7 + 3) % 120;
    text += a == b ? fmt::format("{}", a) : fmt::format("{},{}", std::min(a, b), std::max(a, b));
    text += fmt::format(" {}:1 {}:1 {}:0.5\n", std::min(a, b), std::max(a, b) + (a == b ? 1 : 0),
                        130 + row % 50);
  }
  return text;
}

class AutoHead : public ShortlistCommand {
 protected:
  AutoHead() { put_contents(folder_ / "many.txt", many_labels()); }

  /// What a run that may choose the head prints.
  Outcome choose(const std::vector<std::string>& more) {
    std::vector<std::string> all{"train", folder_ / "many.txt", "-o",
                                 folder_ / fmt::format("run{}", ++runs_)};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  }
  int runs_ = 0;
};

TEST_F(AutoHead, SaysWhatTheDataChose) {
  const Outcome few = run({"train", folder_ / "train.txt", "-o", folder_ / "few", "--epochs", "1"});
  ASSERT_EQ(few.code, 0) << few.err;
  EXPECT_THAT(few.err, HasSubstr("--head auto: full, because there are only 6 labels"));
  // Also where OpenCL runs on the cores of this machine: that is no other device.
  const Outcome many = choose({"--devices", "auto"});
  ASSERT_EQ(many.code, 0) << many.err;
  EXPECT_THAT(many.err, AllOf(HasSubstr("--head auto: shortlist, because there are 120 labels"),
                              HasSubstr("training on cpu:"), HasSubstr("candidate labels a row"),
                              Not(HasSubstr("opencl:0.0: not used"))));
}

TEST_F(AutoHead, TakesTheHeadThatCanDoWhatTheOptionsSay) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--devices", "cpu:1,cpu:1"}, "shortlist, because there are 120 labels"},
      {{"--hidden", "8,8"}, "full, because --hidden asks for 2 hidden layers"},
      {{"--hidden", "none"}, "full, because --hidden asks for no hidden layer"},
      {{"--strategy", "hogwild"}, "shortlist, because there are 120 labels"},
      {{"--loss", "softmax"}, "full, because only this head has --loss"},
      {{"--ablate", "linear"}, "shortlist, because only this head has --ablate"}};
  for (const auto& [options, line] : cases) {
    std::vector<std::string> all{"--epochs", "1"};
    all.insert(all.end(), options.begin(), options.end());
    const Outcome outcome = choose(all);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("--head auto: " + line));
    const bool is_shortlist = line.starts_with("shortlist");
    EXPECT_EQ(outcome.err.find("candidate labels a row") != std::string::npos, is_shortlist);
  }
}

TEST_F(AutoHead, AConfigFileDecidesLikeTheCommandLine) {
  put_contents(folder_ / "recipe.toml", "hidden = [8, 8]\nepochs = 1\n");
  const Outcome outcome = choose({"--config", folder_ / "recipe.toml"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("--head auto: full, because --hidden asks for 2 hidden"));
}

TEST_F(AutoHead, AnUnknownDeviceIsStillRefused) {
  expect_error({"train", folder_ / "many.txt", "--devices", "abacus"}, 2,
               "unknown device 'abacus'");
}

TEST_F(AutoHead, TimeCanBeGivenToTheShortlistHead) {
  const Outcome outcome = choose({"--seconds", "0.3", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("--head auto: shortlist, because there are 120 labels"));
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result.at("ended"), "seconds");
  EXPECT_GE(result.at("training_seconds").get<double>(), 0.3);
  EXPECT_LE(result.at("preparation_seconds").get<double>(),
            result.at("training_seconds").get<double>());
}

TEST_F(AutoHead, DataIsOpenedOnce) {
  // The warning of a data file whose cache cannot be written is printed where it is opened.
  put_contents(folder_ / "file", "");
  const Outcome outcome = choose({"--epochs", "1", "--cache-dir", folder_ / "file"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto first = outcome.err.find("warning");
  ASSERT_NE(first, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("warning", first + 1), std::string::npos) << outcome.err;
}

TEST_F(ShortlistCommand, PreparationCountsAsTraining) {
  const Outcome outcome = run(shortlist("run", {"--json"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const double preparation = json::parse(outcome.out).at("preparation_seconds");
  EXPECT_GT(preparation, 0);
  double seconds = 0;
  for (const auto& line : lines_of(contents_of(folder_ / "run/metrics.jsonl"))) {
    const json record = json::parse(line);
    if (record.at("kind") == "epoch") seconds += record.at("train_seconds").get<double>();
  }
  EXPECT_GT(seconds, preparation);
  EXPECT_THAT(run(shortlist("text")).out, HasSubstr("time      preparation 0."));
}

TEST_F(ShortlistCommand, SaysIfThePreparationLeavesNoTime) {
  const Outcome outcome = run(shortlist("run", {"--seconds", "0.000001"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("no time is left to train the network part"));
}

TEST_F(ShortlistCommand, CtrlCInThePreparationSaysThatNothingIsTrained) {
  put_contents(folder_ / "train.txt", easy_data(20000, 1));
  // The pipe for messages is full of notes before the preparation ends, or the signal comes first.
  Running running(shortlist("run"), environment_, folder_ / "out");
  ASSERT_TRUE(running.wait_for("preparing: "));
  running.send(SIGINT);
  EXPECT_EQ(running.finish(), 130);
  EXPECT_THAT(running.stderr_text(),
              HasSubstr("interrupted in the preparation: nothing is trained"));
  // The directory is free for the next attempt.
  put_contents(folder_ / "train.txt", easy_data(100, 1));
  EXPECT_EQ(run(shortlist("run")).code, 0);
}

}  // namespace
}  // namespace evener
