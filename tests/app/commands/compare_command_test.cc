#include <csignal>
#include <filesystem>
#include <sstream>

#include "tests/app/command.h"
#include "tests/device/has_device.h"

namespace evener {
namespace {

constexpr const char* kCluster = EVENER_SOURCE_DIR "/docs/examples/cluster.toml";

class Compare : public CommandTest {
 protected:
  Compare() {
    EXPECT_EQ(run({"dataset", "synthetic", "-o", folder_ / "data", "--rows", "400", "--features",
                   "50", "--labels", "10"})
                  .code,
              0);
  }
  std::vector<std::string> compare(const std::vector<std::string>& more) {
    std::vector<std::string> all{"compare", folder_ / "data", "--hidden", "8",  "--epochs",
                                 "3",       "--seeds",        "2",        "-o", folder_ / "out"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(Compare, PrintsATableAndWritesJsonCsvAndAPage) {
  const Outcome outcome = run(compare({"--strategies", "sync,adaptive-sgd:gamma=0.5", "--virtual",
                                       kCluster, "--tune", "lr", "--target", "p@1"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      AllOf(HasSubstr("(virtual time)"), HasSubstr("\nsync "),
            HasSubstr("\nadaptive-sgd:gamma=0.5 "),
            testing::ContainsRegex("\n(recommended here: --strategy |too close to call: )")));
  const json written = json::parse(contents_of(folder_ / "out/comparison.json"));
  ASSERT_EQ(written.at("strategies").size(), 2U);
  for (const auto& strategy : written.at("strategies")) {
    EXPECT_EQ(strategy.at("runs").size(), 2U);
    EXPECT_EQ(strategy.at("tuning").size(), 3U);
    EXPECT_EQ(strategy.at("runs")[0].at("curve").size(), 3U);
    EXPECT_EQ(strategy.at("runs")[0].at("workers").size(), 3U);
  }
  double best = 0;
  for (const auto& strategy : written.at("strategies")) {
    double sum = 0;
    for (const auto& run_ : strategy.at("runs")) sum += run_.at("best").get<double>();
    best = std::max(best, sum / 2);
  }
  EXPECT_NEAR(written.at("target"), 0.97 * best, 1e-12);
  const std::string csv = contents_of(folder_ / "out/comparison.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * 2 * 3);
  EXPECT_THAT(contents_of(folder_ / "out/report.html"), HasSubstr("adaptive-sgd:gamma=0.5"));
}

TEST_F(Compare, VirtualTimeGivesTheSameTwice) {
  const auto arguments =
      compare({"--strategies", "hogbatch,elastic", "--virtual", kCluster, "--json"});
  const Outcome first = run(arguments);
  EXPECT_EQ(first.code, 0) << first.err;
  expect_error(arguments, 2, "holds a comparison already");
  std::filesystem::remove_all(folder_ / "out");
  EXPECT_EQ(run(arguments).out, first.out);
}

TEST_F(Compare, RunsRealDevicesToo) {
  const Outcome outcome = run(compare({"--strategies", "sync,hogwild:cpu-batch=8", "--devices",
                                       "cpu:1,cpu:1", "--emulate", "1=x0.5", "--json"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result.at("virtual_time"), false);
  EXPECT_EQ(result.at("devices")[1], "cpu:1 (emulated x0.5)");
}

/// Checks a run in comparison.json: the values at each evaluation agree with those of its workers.
void expect_consistent(const json& run_, bool has_replicas) {
  std::uint64_t before = 0;
  for (const auto& point : run_.at("curve")) {
    EXPECT_GE(point.at("exchanges").get<std::uint64_t>(), before);
    before = point.at("exchanges");
    EXPECT_EQ(point.at("replica_distance").is_number(), has_replicas);
    if (has_replicas) {  // two peers that have just exchanged are equal
      EXPECT_GE(point.at("replica_distance").get<double>(), 0);
    }
  }
  EXPECT_GT(before, 0U);
  std::uint64_t bytes = 0;
  for (const auto& worker : run_.at("workers")) bytes += worker.at("bytes").get<std::uint64_t>();
  EXPECT_EQ(run_.at("curve").back().at("bytes").get<std::uint64_t>(), bytes);
}

TEST_F(Compare, ShowsTheCommunicationOfNodesInBothRuntimes) {
  const std::vector<std::vector<std::string>> runtimes{
      {"--virtual", EVENER_SOURCE_DIR "/docs/examples/nodes.toml"}, {"--devices", "cpu:1,cpu:1"}};
  for (const auto& runtime : runtimes) {
    auto arguments = compare({"--strategies", "gossip,adaptive-gossip,local-sgd,bsp,dasp,sync",
                              "--json", "--seeds", "1"});
    arguments.insert(arguments.end(), runtime.begin(), runtime.end());
    const Outcome outcome = run(arguments);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const json comparison = json::parse(outcome.out);
    for (const auto& strategy : comparison.at("strategies")) {
      SCOPED_TRACE(strategy.at("strategy"));
      const std::string name = strategy.at("strategy"), kind = strategy.at("exchanges_are");
      EXPECT_EQ(kind, name.ends_with("gossip")          ? "exchanges"
                      : name == "bsp" || name == "dasp" ? "pushes"
                                                        : "merges");
      const json run_ = strategy.at("runs")[0];
      expect_consistent(run_, name.ends_with("gossip") || name == "local-sgd");
      if (name.ends_with("gossip") && comparison.at("virtual_time") == true) {  // of eight nodes
        EXPECT_GT(run_.at("curve").back().at("replica_distance").get<double>(), 0);
      }
    }
    EXPECT_THAT(contents_of(folder_ / "out/report.html"),
                AllOf(HasSubstr("Communication over time"), HasSubstr("gossip: exchanges"),
                      HasSubstr("bsp: pushes"), HasSubstr("local-sgd: merges")));
    std::filesystem::remove_all(folder_ / "out");
  }
}

TEST_F(Compare, RunsWorkerProcessesOfThisMachine) {
  const Outcome outcome =
      run(compare({"--strategies", "bsp,dasp,auto", "--nodes", "2", "--emulate", "node1=x0.5",
                   "--json", "--seeds", "1", "--epochs", "2", "--equal", "epochs"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result.at("devices"), json({"node 0", "node 1 (emulated x0.5)"}));
  ASSERT_EQ(result.at("strategies").size(), 3U);
  EXPECT_EQ(result.at("strategies")[2].at("strategy"), "dasp") << "what train --nodes chooses";
  for (const auto& strategy : result.at("strategies")) {
    const json run_ = strategy.at("runs")[0];
    EXPECT_EQ(run_.at("curve").size(), 2U);
    expect_consistent(run_, false);
    for (const auto& worker : run_.at("workers")) EXPECT_GT(worker.at("bytes").get<int>(), 0);
  }
  std::filesystem::remove_all(folder_ / "out");
  expect_error(compare({"--strategies", "sync", "--nodes", "2"}), 2, "nodes have bsp, asp");
  expect_error(compare({"--strategies", "bsp", "--nodes", "2", "--devices", "cpu:1"}), 2,
               "--devices: with --nodes");
  expect_error(compare({"--strategies", "bsp", "--nodes", "2", "--virtual", kCluster}), 2,
               "--virtual and --nodes: choose one");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(Compare, ARunRecordsTheSame) {
  const Outcome outcome =
      run({"train", folder_ / "data", "--hidden", "8", "--epochs", "2", "--eval-every", "2",
           "--devices", "cpu:1,cpu:1", "--strategy", "gossip", "-o", folder_ / "run", "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(contents_of(folder_ / "run/metrics.jsonl"));
  std::vector<json> epochs;
  for (std::string line; std::getline(lines, line);) {
    if (const json record = json::parse(line); record.at("kind") == "epoch") {
      epochs.push_back(record);
    }
  }
  ASSERT_EQ(epochs.size(), 2U);
  EXPECT_FALSE(epochs[0].contains("replica_distance")) << "it is not evaluated";
  EXPECT_TRUE(epochs[1].at("replica_distance").is_number());
  for (const char* field : {"bytes", "exchanges"}) {
    EXPECT_GT(epochs[0].at(field).get<int>(), 0) << field;
    EXPECT_GT(epochs[1].at(field).get<int>(), epochs[0].at(field).get<int>()) << field;
  }
}

TEST_F(Compare, AutoIsWhatTrainChooses) {
  const Outcome outcome = run(compare({"--strategies", "auto,sync:split=speed", "--virtual",
                                       kCluster, "--json", "--target", "p@1"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json strategies = json::parse(outcome.out).at("strategies");
  EXPECT_EQ(strategies[0].at("strategy"), "auto");
  EXPECT_LE(strategies[0].at("runs")[0].at("workers").size(),
            strategies[1].at("runs")[0].at("workers").size());
  EXPECT_GT(strategies[0].at("runs")[0].at("seconds").get<double>(), 0);
  std::filesystem::remove_all(folder_ / "out");
  expect_error(compare({"--strategies", "auto:x=1"}), 2, "auto");
}

TEST_F(Compare, WhenInterruptedItKeepsTheRunsThatWereFinished) {
  Running running(compare({"--strategies", "sync,elastic", "--devices", "cpu:1,cpu:1", "--seeds",
                           "1000", "--epochs", "2"}),
                  environment_, folder_ / "stderr");
  ASSERT_TRUE(running.wait_for("1/2000"));
  running.send(SIGINT);
  EXPECT_EQ(running.finish(), 130);
  EXPECT_THAT(running.stderr_text(),
              HasSubstr("evener: interrupted; the results cover the finished "));
  const json written = json::parse(contents_of(folder_ / "out/comparison.json"));
  EXPECT_EQ(written.at("interrupted"), true);
  EXPECT_EQ(written.at("strategies")[0].at("strategy"), "sync");
  EXPECT_LT(written.at("strategies")[0].at("runs").size(), 1000U);
  EXPECT_THAT(contents_of(folder_ / "out/report.html"), HasSubstr("Interrupted:"));
}

TEST_F(Compare, SaysWhenThereIsNothingToShareOrToCompare) {
  const Outcome one = run(compare({"--strategies", "sync", "--devices", "cpu:1"}));
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.err,
              AllOf(HasSubstr("one device (cpu:1): there is nothing to share between devices"),
                    HasSubstr("one strategy (sync): there is nothing to compare it with\n")));
  std::filesystem::remove_all(folder_ / "out");
  EXPECT_THAT(run(compare({"--strategies", "sync,elastic", "--virtual", kCluster})).err,
              Not(HasSubstr("there is nothing to ")));
}

TEST_F(Compare, WrongArgumentsAreRefusedBeforeAnythingIsTrained) {
  expect_error(compare({"--strategies", "sinc"}), 2, "(did you mean 'sync'?)");
  expect_error(compare({"--strategies", ","}), 2, "--strategies: no strategy is named");
  expect_error(compare({"--target", "p@7=0.5"}), 2, "--target: unknown metric 'p@7'");
  expect_error(compare({"--target", "p@1=high"}), 2, "'high' is not a number");
  expect_error(compare({"--virtual", kCluster, "--devices", "cpu:1"}), 2,
               "--devices: with --virtual");
  expect_error(compare({"--virtual", "none.toml"}), 2, "there is no such cluster file");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(Compare, ABatchSizeThatNoStrategyUsesIsRefused) {
  expect_error(
      compare({"--strategies", "hogwild,adaptive-sgd:b-max=8", "--global-batch-size", "4"}), 2,
      "--global-batch-size has no effect here: hogwild has cpu-batch, adaptive-sgd has "
      "b-max instead");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  const Outcome one = run(compare({"--strategies", "hogwild,sync", "--global-batch-size", "4",
                                   "--devices", "cpu:1,cpu:1", "--seeds", "1"}));
  EXPECT_EQ(one.code, 0) << one.err;
}

TEST_F(Compare, HasNoOptionsOfASingleRun) {
  const std::string help = run({"compare", "--help", "all"}).out;
  for (const char* name : {"resume", "checkpoint-every", "checkpoint-minutes", "keep", "early-stop",
                           "patience", "average", "eval-every"}) {
    EXPECT_THAT(help, Not(HasSubstr(std::string("--") + name + " "))) << name;
    expect_error(compare({std::string("--") + name, "1"}), 2, std::string("--") + name + ": ");
  }
  EXPECT_THAT(help, Not(HasSubstr("--strategy ")));
  expect_error(compare({"--strategy", "sync"}), 2, "--strategies");
  put_contents(folder_ / "c.toml", "resume = \"" + (folder_ / "data") + "\"\n");
  expect_error(compare({"--config", folder_ / "c.toml"}), 2,
               "c.toml:1: --resume: a comparison cannot be resumed");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(Compare, WrongNumbersAreRefused) {
  expect_error(compare({"--seeds", "0"}), 2,
               "--seeds: '0' is not valid; a whole number, 1 .. 1000, is needed");
  expect_error(compare({"--evaluations-per-epoch", "x"}), 2, "a whole number, 1 .. 1000");
  expect_error(compare({"--tune", "momentum"}), 2, "only lr can be tuned");
}

TEST_F(Compare, ADivergingStrategyIsShownAsSuch) {
  const Outcome outcome =
      run(compare({"--strategies", "sync", "--virtual", kCluster, "--optimizer", "sgd",
                   "--learning-rate", "1e30", "--l2", "1", "--json", "--target", "p@1=0.5"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json run_ = json::parse(outcome.out).at("strategies")[0].at("runs")[0];
  EXPECT_EQ(run_.at("diverged"), true);
  EXPECT_TRUE(run_.at("seconds_to_target").is_null());
}

TEST_F(Compare, ProfileMeasuresCopiesToAnAccelerator) {
  if (!has_device("opencl")) GTEST_SKIP() << "no OpenCL device here";
  environment_.emplace_back("PATH=/usr/bin:/bin");  // PoCL calls a linker
  const Outcome outcome =
      run({"profile", "opencl:0.0", folder_ / "data", "--hidden", "8", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json device = json::parse(outcome.out).at("device");
  EXPECT_GT(device.at("latency-us").get<double>(), 0);
  EXPECT_GT(device.at("bandwidth-gb-s").get<double>(), 0);
}

TEST_F(Compare, ProfileWritesADeviceThatSimulateTakes) {
  const std::string cluster = folder_ / "cluster.toml";
  EXPECT_EQ(run({"profile", "cpu:1", folder_ / "data", "--hidden", "8", "-o", cluster}).code, 0);
  EXPECT_THAT(contents_of(cluster), AllOf(HasSubstr("[[device]]\nname = \"cpu:1\""),
                                          HasSubstr("per-row-us = "), Not(HasSubstr("bandwidth"))));
  const Outcome outcome = run({"simulate", cluster, folder_ / "data", "--hidden", "8", "--epochs",
                               "1", "-o", folder_ / "run", "--quiet"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  // Virtual and real seconds do not mix.
  expect_error({"train", "--resume", folder_ / "run", "--epochs", "2"}, 2,
               "that run was a simulation");
}

TEST_F(Compare, ProfilePrintsTheDeviceAsJson) {
  const std::string cluster = folder_ / "cluster.toml";
  const Outcome outcome =
      run({"profile", "cpu:1", folder_ / "data", "--hidden", "8", "--json", "-o", cluster});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result.at("device").at("name"), "cpu:1");
  EXPECT_EQ(result.at("device").at("kind"), "cpu");
  EXPECT_TRUE(result.at("device").at("per-row-us").is_number());
  EXPECT_TRUE(result.at("worst_error").is_number());
  EXPECT_EQ(result.at("written"), cluster);
  EXPECT_THAT(contents_of(cluster), HasSubstr("[[device]]\nname = \"cpu:1\""));
}

}  // namespace
}  // namespace evener
