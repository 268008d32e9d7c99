// Commands for several devices: strategies, train, simulate.
#include <filesystem>
#include <sstream>

#include "tests/app/command.h"
#include "tests/device/has_device.h"

#include "evener/policy/catalogue.h"

namespace evener {
namespace {

class Strategies : public CommandTest {};

TEST_F(Strategies, AreListedWithOneLineEach) {
  const Outcome outcome = run({"strategies"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith("For the devices of one machine:\n\nsequential "),
                    HasSubstr("\nFor nodes, and for devices that stand for nodes:\n\nbsp "),
                    HasSubstr("\nhogwild "), HasSubstr("\nhogbatch "),
                    HasSubstr("\nadaptive-hogbatch "), HasSubstr("\nsync "),
                    HasSubstr("\nelastic "), HasSubstr("\nsma "), HasSubstr("\nadaptive-sgd ")));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(Strategies, ThatComposeAreShownInATable) {
  const std::string text = run({"strategies"}).out;
  EXPECT_THAT(text, HasSubstr("\n                   bsp asp ssp dssp dasp gossip adaptive-gossip\n"
                              "sequential         1   1   1   1    1    1      1\n"
                              "hogwild            yes yes yes yes  yes  yes    yes\n"));
  EXPECT_THAT(run({"strategies", "sync"}).out,
              HasSubstr("as nodes, train by one of: bsp, asp, ssp, dssp, dasp, gossip, adaptive-"));
  EXPECT_THAT(run({"strategies", "bsp"}).out,
              HasSubstr("several devices of a node train by one of: sequential, hogwild, "));
}

TEST_F(Strategies, OneIsShownWithItsOptions) {
  const Outcome outcome = run({"strategies", "adaptive-sgd"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(
      outcome.out,
      AllOf(StartsWith("adaptive-sgd: "), HasSubstr("from: Ma, Rusu, Wu, Sim 2022"),
            HasSubstr("\n  preset "), HasSubstr("\n  mega-batch "),
            HasSubstr("[throughput, split, paper, released, off]"), Not(HasSubstr("hogbatch"))));
  expect_error({"strategies", "adaptive-sdg"}, 2, "(did you mean 'adaptive-sgd'?)");
}

TEST_F(Strategies, JsonHasThemAll) {
  const json rows = json::parse(run({"strategies", "--json"}).out);
  ASSERT_EQ(rows.size(), strategies().size());
  EXPECT_EQ(rows[0].at("name"), "sequential");
  EXPECT_EQ(rows[0].at("options"), json::array()) << "none, but the key is there";
  const json& adaptive = rows[7];
  EXPECT_EQ(adaptive.at("name"), "adaptive-sgd");
  bool found = false;
  for (const auto& option : adaptive.at("options")) {
    if (option.at("name") != "gamma") continue;
    found = true;
    EXPECT_EQ(option.at("default"), "0");
    EXPECT_FALSE(option.at("help").get<std::string>().empty());
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(adaptive.at("of"), "devices");
  EXPECT_EQ(adaptive.at("composes_with"), json(names_of(true)));
  EXPECT_EQ(rows[8].at("of"), "nodes");
  EXPECT_EQ(rows[8].at("composes_with"), json(names_of(false)));
  // A strategy by name is the same object as in the list.
  EXPECT_EQ(json::parse(run({"strategies", "adaptive-sgd", "--json"}).out), adaptive);
}

TEST_F(Strategies, OneFormIsPrintedAtATime) {
  expect_error({"strategies", "--json", "--markdown"}, 2, "--json and --markdown: choose one");
  expect_error({"strategies", "sync", "--markdown"}, 2, "--markdown prints all strategies");
}

TEST_F(Strategies, HelpShowsWhichOfTheirOptionsAreNumbers) {
  EXPECT_THAT(run({"train", "--help", "all"}).out,
              AllOf(HasSubstr("\n  --pull N "), HasSubstr("\n  --cpu-batch N "),
                    HasSubstr("\n  --writeback WORD "), HasSubstr("\n  --rate-scaling WORD ")));
}

TEST_F(Strategies, TheirPageIsCurrent) {
  const std::string page = contents_of(EVENER_SOURCE_DIR "/docs/strategy_options.md");
  const std::string begin = "<!-- options -->\n", end = "<!-- /options -->";
  const std::size_t from = page.find(begin);
  ASSERT_NE(from, std::string::npos);
  const std::size_t to = page.find(end, from);
  ASSERT_NE(to, std::string::npos);
  EXPECT_EQ(page.substr(from + begin.size(), to - from - begin.size()),
            run({"strategies", "--markdown"}).out)
      << "run: scripts/update_docs";
}

TEST_F(Strategies, MarkdownTablesHaveTheSameCellsInEveryRow) {
  std::istringstream lines(run({"strategies", "--markdown"}).out);
  std::ptrdiff_t bars = 0;  // of the previous row
  for (std::string line; std::getline(lines, line);) {
    const auto own = line.starts_with("|") ? std::count(line.begin(), line.end(), '|') : 0;
    EXPECT_TRUE(own == 0 || bars == 0 || own == bars) << line;
    bars = own;
  }
}

class SeveralDevices : public CommandTest {
 protected:
  std::vector<std::string> two_workers(const std::string& name,
                                       const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"--devices", "cpu:1,cpu:1", "--strategy", "adaptive-sgd"};
    all.insert(all.end(), more.begin(), more.end());
    return training(name, all);
  }
  void expect_refused(const std::vector<std::string>& more, const std::string& part) {
    expect_error(training("refused", more), 2, part);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "refused")) << part;
  }
};

TEST_F(SeveralDevices, StrategiesThatCannotRunAreRefusedBeforeAnythingIsWritten) {
  expect_refused({"--strategy", "adaptive-sdg"}, "(did you mean 'adaptive-sgd'?)");
  expect_refused({"--devices", "cpu:1,cpu:1", "--strategy", "sync", "--gamma", "0.5"},
                 "strategy sync has no option 'gamma'");
  expect_refused({"--devices", "cpu:1,cpu:1", "--strategy", "sync:gamma=0.5"},
                 "strategy sync has no option 'gamma'");
  expect_refused({"--devices", "cpu:1,cpu:1", "--strategy", "sequential"}, "trains on one device");
  for (const char* strategy :
       {"adaptive-sgd:b-min=64:b-max=32", "adaptive-hogbatch:cpu-min=64:cpu-max=2"}) {
    expect_error({"train", folder_ / "train.txt", "-o", folder_ / "refused", "--devices",
                  "cpu:1,cpu:1", "--strategy", strategy},
                 2, "the batch bounds cross");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "refused"));
  }
}

TEST_F(SeveralDevices, AModelThatDoesNotFitLeavesNoFilesAndASmallMemoryIsNoted) {
  if (!has_device("opencl")) GTEST_SKIP() << "no OpenCL device here";
  environment_.emplace_back("PATH=/usr/bin:/bin");  // PoCL calls a linker
  const std::vector<std::string> small{"--devices", "opencl:0.0", "--memory-limit", "1"};
  auto wide = small;
  wide.insert(wide.end(), {"--hidden", "4096"});
  expect_error(training("refused", wide), 1, "needs");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "refused"));
  auto cut = small;
  cut.insert(cut.end(), {"--hidden", "8", "--global-batch-size", "5000"});
  const Outcome outcome = run(training("cut", cut));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("opencl:0.0: its memory holds batches of "));
}

TEST_F(SeveralDevices, CompilingKernelsIsReportedAndDoneOnce) {
  if (!has_device("opencl")) GTEST_SKIP() << "no OpenCL device here";
  environment_.emplace_back("PATH=/usr/bin:/bin");  // PoCL calls a linker
  const std::vector<std::string> one{"--devices", "opencl:0.0", "--epochs", "1"};
  const Outcome first = run(training("first", one));
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("compiling kernels for opencl:0.0 (once)"));
  const Outcome second = run(training("second", one));
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_THAT(second.err, Not(HasSubstr("compiling kernels")));
}

TEST_F(SeveralDevices, InvalidDevicesAreRefused) {
  expect_refused({"--devices", ""}, "names no device");
  expect_refused({"--devices", ","}, "names no device");
  expect_refused({"--devices", "cpu:1,"}, "names no device after a comma");
  expect_refused({"--devices", "cpu,cpu"}, "cpu is named twice");
  expect_refused({"--devices", "cpu:1,cpu:1", "--emulate", "5=x0.5"}, "no one device '5' here");
  expect_refused({"--devices", "cpu:1,cpu:1", "--emulate", "1=x2"}, "is not DEVICE=xSPEED");
}

TEST_F(SeveralDevices, ARunNamesBothInItsResultAndTrace) {
  const Outcome outcome = run(two_workers("run", {"--gamma", "0.5", "--json"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result.at("strategy"), "adaptive-sgd:gamma=0.5");
  ASSERT_EQ(result.at("devices").size(), 2U);
  std::uint64_t rows = 0;
  for (const auto& device : result.at("devices")) {
    EXPECT_EQ(device.at("name"), "cpu:1");
    rows += device.at("rows").get<std::uint64_t>();
  }
  EXPECT_EQ(rows, 5U * 100U) << "every row once an epoch";

  const json trace = json::parse(contents_of(folder_ / "run/trace.json"));
  std::vector<std::string> threads;
  std::size_t traced = 0, merges = 0;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("name") == "thread_name") threads.push_back(event.at("args").at("name"));
    if (event.at("name") == "step") traced += event.at("args").at("rows").get<std::size_t>();
    if (event.at("name") == "merge") ++merges;
  }
  EXPECT_THAT(threads, testing::ElementsAre("merges", "0 cpu:1", "1 cpu:1"));
  EXPECT_EQ(traced, 500U);
  EXPECT_GE(merges, 5U) << "at least one an epoch";

  // The written config file starts the same kind of run.
  const Outcome again = run({"train", "--config", folder_ / "run/config.toml", "-o",
                             folder_ / "again", "--json", "--quiet"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(json::parse(again.out).at("strategy"), result.at("strategy"));
  EXPECT_EQ(json::parse(again.out).at("devices").size(), 2U);
}

TEST_F(SeveralDevices, TheResultListsBothForPeople) {
  const Outcome outcome = run(two_workers("run"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("training on cpu:1 + cpu:1 by adaptive-sgd ("));
  const std::size_t first = outcome.out.find("\ndevice    0 cpu:1: ");
  ASSERT_NE(first, std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\ndevice    1 cpu:1: ", first + 1), std::string::npos) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("\nstrategy  adaptive-sgd\n"));
}

TEST_F(SeveralDevices, EmulationIsShownEverywhere) {
  const Outcome outcome = run(two_workers("run", {"--emulate", "1=x0.5"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string name = "cpu:1 (emulated x0.5)";
  EXPECT_THAT(outcome.out, HasSubstr(name + ": "));
  EXPECT_THAT(contents_of(folder_ / "run/log.txt"), HasSubstr("training on cpu:1 + " + name));
  EXPECT_THAT(contents_of(folder_ / "run/trace.json"), HasSubstr(name));
  const json result =
      json::parse(run(training("other", {"--devices", "cpu:1,cpu:2", "--emulate", "cpu:2=x0.5",
                                         "--strategy", "sync", "--json", "--quiet"}))
                      .out);
  EXPECT_EQ(result.at("devices").at(0).at("name"), "cpu:1");
  EXPECT_EQ(result.at("devices").at(1).at("name"), "cpu:2 (emulated x0.5)");
}

TEST_F(SeveralDevices, AnInterruptedRunGoesOn) {
  // It writes far more than fits into the pipe, so it cannot end before the test reads.
  Running running(two_workers("cut", {"--epochs", "150", "--eval-every", "10", "--gamma", "0"}),
                  environment_, folder_ / "out");
  ASSERT_TRUE(running.wait_for("epoch 2/150"));
  running.send(SIGINT);
  ASSERT_EQ(running.finish(), 130);
  EXPECT_THAT(running.stderr_text(), HasSubstr("evener train --resume " + (folder_ / "cut")));
  EXPECT_THAT(contents_of(folder_ / "out"), HasSubstr("interrupted after "));
  ASSERT_FALSE(std::filesystem::is_empty(folder_ / "cut/checkpoints"));

  const Outcome rest = run({"train", "--resume", folder_ / "cut", "--json"});
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_THAT(rest.err, AllOf(Not(HasSubstr("epoch 2/150")), HasSubstr("epoch 150/150")));
  const json result = json::parse(rest.out);
  EXPECT_EQ(result.at("epochs"), 150);
  EXPECT_EQ(result.at("devices").size(), 2U);
  EXPECT_GT(result.at("metrics").at("p@1").get<double>(), 0.9);
}

TEST_F(SeveralDevices, DivergenceStopsWithTheReasonAndLeavesNoModel) {
  for (const char* strategy : {"adaptive-sgd", "sync", "hogbatch", "elastic"}) {
    SCOPED_TRACE(strategy);
    const std::string name = std::string("run-") + strategy;
    const Outcome outcome =
        run({"train", folder_ / "train.txt", "-o", folder_ / name, "--hidden", "8", "--epochs", "5",
             "--devices", "cpu:1,cpu:1", "--strategy", strategy, "--optimizer", "sgd",
             "--learning-rate", "1e30", "--l2", "1"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("evener: error: "), HasSubstr("diverged"),
                                   HasSubstr("--learning-rate")));
    EXPECT_THAT(outcome.out, IsEmpty());
    for (const auto& file : names_in(folder_ / name)) {
      EXPECT_THAT(file, AllOf(Not(HasSubstr("safetensors")), Not(HasSubstr("checkpoint"))));
    }
    EXPECT_THAT(contents_of(folder_ / (name + "/log.txt")), HasSubstr("diverged"));
  }
}

TEST_F(SeveralDevices, OneRowAStepOnALargeModelGivesAHint) {
  const auto hogwild = [&](const std::string& name, const std::string& strategy,
                           const std::string& hidden) {
    return run({"train", folder_ / "train.txt", "-o", folder_ / name, "--devices", "cpu:1,cpu:1",
                "--strategy", strategy, "--optimizer", "sgd", "--hidden", hidden, "--epochs", "1"})
        .err;
  };
  EXPECT_THAT(hogwild("a", "hogwild", "4000"), HasSubstr("\nhint: CPU threads step on one row at a "
                                                         "time, which is slow on "));
  EXPECT_THAT(hogwild("b", "hogbatch:cpu-batch=1", "4000"),
              HasSubstr("faster: hogbatch:cpu-batch=32, "));
  EXPECT_THAT(hogwild("c", "hogbatch:cpu-batch=1", "8"), Not(HasSubstr("hint: ")));
  EXPECT_THAT(hogwild("d", "hogbatch", "4000"), Not(HasSubstr("hint: ")));
}

TEST_F(SeveralDevices, ABatchSizeThatTheStrategyDoesNotUseIsRefused) {
  for (const std::string option : {"--global-batch-size", "--batch-size-per-device"}) {
    for (const std::string strategy : {"hogwild", "hogbatch", "adaptive-hogbatch"}) {
      expect_error(
          {"train", folder_ / "train.txt", "-o", folder_ / "refused", "--devices", "cpu:1,cpu:1",
           "--strategy", strategy + (strategy == "hogwild" ? "" : ":preset=paper"), option, "16"},
          2, option + " has no effect here: " + strategy + " has cpu-batch");
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "refused"));
}

class Simulate : public CommandTest {
 protected:
  Simulate() {
    EXPECT_EQ(run({"dataset", "synthetic", "-o", folder_ / "data", "--rows", "300", "--features",
                   "50", "--labels", "10"})
                  .code,
              0);
  }
  std::vector<std::string> simulation(const std::string& name,
                                      const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"simulate", kCluster, folder_ / "data", "-o", folder_ / name,
                                 "--epochs", "3",      "--hidden",       "8"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static constexpr const char* kCluster = EVENER_SOURCE_DIR "/docs/examples/cluster.toml";
};

TEST_F(Simulate, TheSameTwiceToTheBit) {
  for (const char* strategy : {"auto", "adaptive-hogbatch", "sync"}) {
    SCOPED_TRACE(strategy);
    std::vector<Outcome> outcomes;
    for (const std::string name : {"a", "b"}) {
      outcomes.push_back(
          run(simulation(name + "-" + strategy, {"--json", "--strategy", strategy})));
      ASSERT_EQ(outcomes.back().code, 0) << outcomes.back().err;
    }
    EXPECT_EQ(outcomes[0].err, outcomes[1].err) << "times and speeds too: they are virtual";
    json first = json::parse(outcomes[0].out), second = json::parse(outcomes[1].out);
    EXPECT_NE(first.at("run"), second.at("run"));
    first.erase("run");
    second.erase("run");
    EXPECT_EQ(first, second);
    for (const char* file : {"/last.safetensors", "/trace.json"}) {
      EXPECT_EQ(contents_of(folder_ / ("a-" + std::string(strategy) + file)),
                contents_of(folder_ / ("b-" + std::string(strategy) + file)))
          << file;
    }
  }
}

TEST_F(Simulate, NamesTheDevicesOfTheFile) {
  const Outcome outcome = run(simulation("run", {"--strategy", "adaptive-sgd"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err,
              HasSubstr("simulating training on fast card + older card + host by adaptive-sgd"));
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("device    0 fast card: "), HasSubstr("device    1 older card: "),
                    HasSubstr("device    2 host: ")));
}

TEST_F(Simulate, RealDevicesAndBadFilesAreRefused) {
  expect_error(simulation("run", {"--devices", "cpu:1"}), 2, "--devices: a simulation has the ");
  expect_error(simulation("run", {"--emulate", "0=x0.5"}), 2, "--emulate: a simulation has the ");
  EXPECT_THAT(run({"simulate", "--help", "all"}).out,
              AllOf(Not(HasSubstr("--devices")), Not(HasSubstr("--emulate")),
                    Not(HasSubstr("--memory-limit"))));
  expect_error({"simulate", folder_ / "none.toml", folder_ / "data"}, 2,
               "there is no such cluster file");
  put_contents(folder_ / "c.toml", "[[device]]\nkind = \"gpu\"\n");
  expect_error({"simulate", folder_ / "c.toml", folder_ / "data"}, 2,
               "c.toml:2: kind 'gpu' is neither cpu nor accelerator");
  expect_error({"simulate", kCluster}, 2, "no training data given");
  expect_error(simulation("run", {"--strategy", "hogwild"}), 2, "fast card is not one");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

}  // namespace
}  // namespace evener
