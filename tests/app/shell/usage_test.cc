// Wrong usage and bad input: error messages and exit codes.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <sstream>

#include "tests/app/command.h"
#include "tests/run/report/terminal.h"

#include "evener/run/report/text_width.h"

namespace evener {
namespace {

class Usage : public CommandTest {
 protected:
  /// All commands in the help, and the hidden one.
  std::vector<std::string> commands() {
    std::istringstream help(run({"--help"}).out);
    std::string line;
    while (std::getline(help, line) && line != "Commands:") {
    }
    std::vector<std::string> names{"options"};
    while (std::getline(help, line) && !line.empty()) {
      std::istringstream words(line);
      if (line[2] != ' ') words >> names.emplace_back();  // else it continues a description
    }
    EXPECT_GE(names.size(), 17U);
    return names;
  }
  /// Standard output, read while the command runs: a terminal's buffer is small.
  std::string shown_on(Terminal& user, const std::vector<std::string>& arguments) {
    auto outcome = std::async(std::launch::async, [&] { return run(arguments, user.path()); });
    std::string text;
    while (outcome.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
      text += user.received();
    }
    EXPECT_EQ(outcome.get().code, 0);
    return text + user.received();
  }
};

TEST_F(Usage, HelpAndVersion) {
  const Outcome alone = run({});
  EXPECT_THAT(alone.out, AllOf(HasSubstr("Commands:"), HasSubstr("Examples:")));
  EXPECT_EQ(alone.code, 0);
  EXPECT_EQ(run({"--help"}).out, alone.out);
  EXPECT_THAT(run({"--version"}).out, StartsWith("evener 0."));
  for (const auto& command : commands()) {
    SCOPED_TRACE(command);
    const Outcome outcome = run({command, "--help"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out,
                AllOf(StartsWith("Usage: evener " + command), HasSubstr("\nExamples:\n  evener "),
                      HasSubstr("\n  evener " + command), Not(HasSubstr("\n\n\n"))));
    EXPECT_THAT(outcome.err, IsEmpty());
    if (command != "options") {
      EXPECT_THAT(alone.out, HasSubstr("\n  " + command));
    }
  }
}

TEST_F(Usage, HelpFitsTheTerminal) {
  std::vector<std::vector<std::string>> all{{"--help"}};
  for (const auto& command : commands()) {
    all.push_back({command, "--help"});
    all.push_back({command, "--help", "all"});
  }
  for (const auto& arguments : all) {
    std::istringstream lines(run(arguments).out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_columns(line), 80U) << arguments[0] << ": " << line;
    }
  }
  Terminal user;
  if (user.stream() == nullptr) GTEST_SKIP() << "no pseudo-terminals here";
  user.resize(50);
  for (const auto& arguments : all) {
    std::istringstream lines(shown_on(user, arguments));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_columns(line), 50U) << arguments[0] << ": " << line;
    }
  }
}

TEST_F(Usage, ResultsFitANarrowTerminal) {
  Terminal user;
  if (user.stream() == nullptr) GTEST_SKIP() << "no pseudo-terminals here";
  user.resize(40);
  ASSERT_EQ(run(training("run")).code, 0);
  const std::string in_a_pipe = run({"strategies"}).out;
  EXPECT_THAT(in_a_pipe, testing::ContainsRegex("[^\n]{80}"));
  const std::vector<std::vector<std::string>> commands{{"strategies"},
                                                       {"info", folder_ / "train.txt"},
                                                       {"devices"},
                                                       {"train", "--resume", folder_ / "run"},
                                                       {"info", "--help"}};
  for (const auto& arguments : commands) {
    EXPECT_EQ(run(arguments, user.path()).code, 0);
    std::istringstream lines(user.received());
    for (std::string line; std::getline(lines, line);) {
      EXPECT_THAT(line, Not(testing::EndsWith(" \r")));
      if (line.find(folder_.path()) != std::string::npos) continue;  // paths stay whole
      EXPECT_LE(display_columns(line), 40U) << line;
    }
  }
}

TEST_F(Usage, ErrorsAreBrokenAtSpaces) {
  Terminal user;
  if (user.stream() == nullptr) GTEST_SKIP() << "no pseudo-terminals here";
  user.resize(50);
  const std::vector<std::string> wrong{"train", "--lerning-rate", "3", "x"};
  Running running(wrong, environment_, folder_ / "stdout", user.path());
  EXPECT_EQ(running.finish(), 2);
  std::istringstream lines(user.received());
  std::string joined;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(display_columns(line), 50U) << line;
    joined += (joined.empty() ? "" : " ") + line.substr(0, line.find('\r'));
  }
  EXPECT_EQ(joined + "\n", run(wrong).err);
}

TEST_F(Usage, HelpUsesPlainTypeNames) {
  for (const auto& command : commands()) {
    EXPECT_THAT(run({command, "--help", "all"}).out,
                AllOf(Not(HasSubstr("INT")), Not(HasSubstr("TEXT")), Not(HasSubstr("FLOAT")),
                      Not(HasSubstr(":{")), Not(HasSubstr(" in ["))))
        << command;
  }
  EXPECT_THAT(run({"compare", "--help"}).out,
              AllOf(HasSubstr("\n  --seeds N "), HasSubstr("\n  --tune lr ")));
  EXPECT_THAT(run({"train", "--help", "all"}).out, HasSubstr("\n  --peers HOST:PORT,... "));
  // Every option that takes an address.
  for (const auto& command : commands()) {
    std::istringstream lines(run({command, "--help", "all"}).out);
    for (std::string line; std::getline(lines, line);) {
      for (const char* name : {"--peers", "--listen", "--coordinator", "--address"}) {
        if (line.starts_with(std::string("  ") + name)) {
          EXPECT_THAT(line, StartsWith(std::string("  ") + name + " HOST:PORT")) << command;
        }
      }
    }
  }
}

TEST_F(Usage, HelpOfTrainingIsShortAndHelpAllShowsTheRest) {
  for (const std::string command : {"train", "simulate", "compare", "profile", "coordinator"}) {
    SCOPED_TRACE(command);
    const std::string usual = run({command, "--help"}).out;
    const std::string all = run({command, "--help", "all"}).out;
    EXPECT_LT(std::count(usual.begin(), usual.end(), '\n'), 90);
    EXPECT_THAT(
        usual, AllOf(HasSubstr("\nWhich data?\n"), HasSubstr("--hidden"), Not(HasSubstr("--beta1")),
                     HasSubstr("`evener " + command + " --help all` shows every option.")));
    EXPECT_THAT(all, AllOf(HasSubstr("\nData:\n"), HasSubstr("--beta1"), Not(HasSubstr("?\n")),
                           Not(HasSubstr("--help all"))));
    std::istringstream lines(usual);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  -")) continue;
      EXPECT_THAT(all, HasSubstr("\n" + line.substr(0, line.find("  ", 2))));
    }
    EXPECT_EQ(run({"help", command, "all"}).out, all);
    EXPECT_EQ(run({command, "-h", "all"}).out, all);
  }
  const std::string train = run({"train", "--help"}).out;
  EXPECT_LT(train.find("Which data?"), train.find("Which network"));
  EXPECT_LT(train.find("Which network"), train.find("On which hardware?"));
  // Where all options are shown anyway there is no long form.
  EXPECT_EQ(run({"info", "--help", "all"}).out, run({"info", "--help"}).out);
}

TEST_F(Usage, UnknownNamesGiveTheNearest) {
  expect_error({"trian"}, 2, "unknown command 'trian' (did you mean 'train'?)");
  expect_error({"train", "--lerning-rate", "3", "x"}, 2, "(did you mean '--learning-rate'?)");
  expect_error({"train", "--lerning_rate=3", "x"}, 2, "(did you mean '--learning-rate'?)");
  expect_error({"train", "--batch-size", "3"}, 2, "(did you mean '--global-batch-size'?)");
  expect_error({"train", "x", "--optimizer", "adma"}, 2, "(did you mean 'adam'?)");
  expect_error({"dataset", "debian-tag", "-o", folder_ / "d"}, 2, "(did you mean 'debian-tags'?)");
}

TEST_F(Usage, AnOptionOfOtherCommandsNamesThem) {
  expect_error({"train", "--seeds", "3"}, 2,
               "--seeds is not an option of evener train, but of evener compare\n");
  expect_error({"train", "--no-force"}, 2, "unknown option '--no-force'");
  expect_error({"info", "--top=3", "x"}, 2,
               "is not an option of evener info, but of evener predict");
  // Options that a command has only to say why it does not take them do not count.
  expect_error(
      {"worker", "--patience", "3"}, 2,
      "--patience is not an option of evener worker, but of evener train, evener simulate, "
      "evener coordinator\n");
  expect_error({"--virtual", "x"}, 2,
               "--virtual is not an option of evener, but of evener compare");
}

TEST_F(Usage, HelpIsACommandToo) {
  for (const auto& command : commands()) {
    const Outcome outcome = run({"help", command});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, run({command, "--help"}).out) << command;
    EXPECT_THAT(outcome.err, IsEmpty());
  }
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  expect_error({"help", "trian"}, 2, "unknown command 'trian' (did you mean 'train'?)");
  expect_error({"help", "train", "test"}, 2, "unexpected argument 'test'");
}

TEST_F(Usage, MissingAndSurplusArgumentsAreNamed) {
  expect_error({"train"}, 2, "no training data given");
  expect_error({"test"}, 2, "RUN is required");
  expect_error({"train", "a", "b"}, 2, "unexpected argument 'b'");
  expect_error({"train", "-x"}, 2, "unexpected argument '-x'");
  expect_error({"train", "a", "--epochs"}, 2, "--epochs: a value is missing");
  expect_error({"train", "a", "--epochs", "-3"}, 2, "--epochs: '-3' is not valid");
  expect_error({"train", "a", "--nodes", "two"}, 2,
               "--nodes: 'two' is not valid; a whole number, 0 .. 256, is needed");
  expect_error(training("run", {"--devices", "gpu"}), 2, "cpu");
  expect_error(training("run", {"--devices", "cpu:1,cpu:1", "--memory-limit", "1=512"}), 2,
               "--memory-limit: cpu:1 works in the machine's memory");
  expect_error(training("run", {"--memory-limit", "512"}), 2, "--memory-limit: ");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(Usage, MissingAndBadFiles) {
  ASSERT_EQ(run(training("model")).code, 0);
  const std::string none = folder_ / "none.txt";
  const std::string missing = none + ": there is no such file\n";
  expect_error({"train", none}, 2, missing);
  expect_error({"train", folder_ / "train.txt", "--test", none, "-o", folder_ / "run"}, 2, missing);
  expect_error({"compare", none, "--validation-share", "0.1", "-o", folder_ / "c"}, 2, missing);
  expect_error({"profile", "cpu:1", none}, 2, missing);
  expect_error({"test", folder_ / "model", none}, 2, missing);
  expect_error({"predict", folder_ / "model", none}, 2, missing);
  expect_error({"convert", none, folder_ / "a.evd"}, 2, missing);
  expect_error({"info", none}, 2, missing);
  expect_error({"dataset", "debian-tags", "--index", none, "-o", folder_ / "d"}, 2, missing);
  expect_error({"test", folder_ / "none", folder_ / "test.txt"}, 2, "no such run or model");
  expect_error({"test", folder_.path(), folder_ / "test.txt"}, 2, "is not a run directory");
  expect_error({"test", folder_ / "test.txt", folder_ / "test.txt"}, 1, "test.txt");
  expect_error({"info", folder_ / "none"}, 2, "no such file");
  put_contents(folder_ / "train.txt", "3 20 6\n0 1:1\n0 1:1e999\n2 2:1\n");
  expect_error(training("run"), 1, "train.txt:3: ");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(Usage, AnOutputThatIsThereIsRefused) {
  ASSERT_EQ(run(training("run")).code, 0);
  expect_error(training("run"), 2, "run: holds a run already");
  expect_error(training("cache"), 2, "cache: exists and is not empty");
  expect_error(training("test.txt"), 2, "test.txt: exists and is not a directory");
  expect_error({"compare", folder_.path(), "-o", folder_ / "test.txt"}, 2,
               "test.txt: exists and is not a directory");
  expect_error({"dataset", "synthetic", "-o", folder_ / "run"}, 2, "run exists already");
  expect_error({"dataset", "synthetic", "-o", folder_ / "run", "--force"}, 2, "is not replaced");
  expect_error({"dataset", "synthetic", "-o", folder_ / "test.txt", "--force"}, 2,
               "test.txt exists and is not a directory");
  ASSERT_EQ(run({"certs", folder_ / "certs"}).code, 0);
  expect_error({"certs", folder_ / "certs"}, 2, "certs: has an authority already");
}

TEST_F(Usage, BadConfigNamesItsLine) {
  put_contents(folder_ / "c.toml", "epochs = 3\nhiden = 4\n");
  expect_error({"train", "--config", folder_ / "c.toml"}, 2,
               "c.toml:2: unknown option 'hiden' (did you mean 'hidden'?)");
}

TEST_F(Usage, AFullDiskIsAnErrorAndAClosedPipeIsNot) {
  const Outcome full = run({"options"}, "/dev/full");
  EXPECT_EQ(full.code, 1);
  EXPECT_THAT(full.err, HasSubstr("evener: error: cannot write to standard output: "));

  const Outcome closed = run({"options"}, kClosedPipe);
  EXPECT_EQ(closed.code, 0);
  EXPECT_THAT(closed.err, IsEmpty());
  ASSERT_EQ(run(training("run")).code, 0);
  const Outcome predicted = run({"predict", folder_ / "run", folder_ / "test.txt"}, kClosedPipe);
  EXPECT_EQ(predicted.code, 0);
  EXPECT_THAT(predicted.err, IsEmpty());
}

}  // namespace
}  // namespace evener
