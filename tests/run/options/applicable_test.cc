// Every option in every mode is accepted or refused as in the table of this file, which is written
// by hand and not generated from the option table.
#include "evener/run/options/applicable.h"

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/run/support.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/policy/catalogue.h"
#include "evener/run/options/config.h"
#include "evener/run/options/resolve.h"

namespace evener {
namespace {

using testing::HasSubstr;

/// The options that select each mode, in addition to the data.
OptionTexts selecting(Mode mode) {
  OptionTexts texts;
  if (kTrainingModes.contains(mode)) texts["data"] = "d";
  switch (mode) {
    case Mode::train_nodes:
    case Mode::compare_nodes:
      texts["nodes"] = "2";
      break;
    case Mode::train_peers:
    case Mode::worker_peers:
      texts["peers"] = "a:1,b:1";
      break;
    case Mode::train_mpi_gossip:
      texts["transport"] = "mpi";
      break;
    case Mode::train_mpi_server:
      texts["transport"] = "mpi";
      texts["strategy"] = "bsp";
      break;
    case Mode::compare_virtual:
      texts["virtual"] = "cluster.toml";
      break;
    default:
      break;
  }
  return texts;
}

/// What an option needs in addition to its mode; without it, the option is refused with this text.
struct Enabled {
  const char* option;
  OptionTexts with;
  OptionTexts without;
  const char* words;
};
const std::vector<Enabled>& enabled() {
  static const std::vector<Enabled> rows{
      {"cache-dir", {}, {{"cache", "false"}}, "--cache-dir has no effect with --no-cache"},
      {"ablate", {{"head", "shortlist"}}, {{"head", "full"}}, "--ablate needs --head shortlist"},
      {"activation", {}, {{"hidden", "none"}}, "--activation needs hidden layers: see --hidden"},
      {"dropout", {}, {{"hidden", "none"}}, "--dropout needs hidden layers: see --hidden"},
      {"momentum", {{"optimizer", "momentum"}}, {}, "--momentum needs --optimizer momentum"},
      {"beta1", {}, {{"optimizer", "sgd"}}, "--beta1 needs --optimizer adam"},
      {"beta2", {}, {{"optimizer", "adagrad"}}, "--beta2 needs --optimizer adam"},
      {"epsilon", {}, {{"optimizer", "sgd"}}, "--epsilon needs --optimizer adam or adagrad"},
      {"epsilon",
       {{"optimizer", "adagrad"}},
       {{"optimizer", "momentum"}},
       "--epsilon needs --optimizer adam or adagrad"},
      {"global-batch-size",
       {},
       {{"batch-size-per-device", "8"}},
       "--global-batch-size has no effect with --batch-size-per-device"},
      {"decay-epochs", {{"decay", "step"}}, {}, "--decay-epochs needs --decay step"},
      {"decay-factor", {}, {{"decay", "constant"}}, "--decay-factor needs --decay step or cosine"},
      {"eval-every", {{"test", "t"}}, {}, "--eval-every needs something to evaluate on"},
      {"eval-every",
       {{"validation-share", "0.1"}},
       {},
       "--eval-every needs something to evaluate on"},
      {"early-stop", {{"test", "t"}}, {}, "--early-stop needs something to evaluate on"},
      {"patience",
       {{"test", "t"}, {"early-stop", "p@1"}},
       {{"test", "t"}},
       "--patience needs --early-stop"},
      {"insecure", {}, {{"tls", "folder"}}, "--insecure has no effect with --tls"},
      {"token-file", {}, {{"token", "x"}}, "--token-file has no effect with --token"},
      {"grid", {{"tune", "lr"}}, {}, "--grid needs --tune lr"},
      {"reference", {}, {{"equal", "epochs"}}, "--reference has no effect with --equal epochs"},
      {"reference", {}, {{"seconds", "5"}}, "--reference has no effect with --seconds"},
  };
  return rows;
}

OptionTexts with_needs(OptionTexts texts, const std::string& option, Mode mode) {
  for (const auto& row : enabled()) {
    if (row.option != option) continue;
    for (const auto& [name, text] : row.with) {
      if (why_not_in_mode(find_train_option(name), mode).empty()) texts.emplace(name, text);
    }
    return texts;
  }
  return texts;
}

/// The error message for these options; empty: they are accepted.
std::string refusal(Mode mode, const OptionTexts& texts) {
  const Command command = command_of(mode);
  return error_of([&] {
    const GivenOptions given{texts, ""};
    const TrainOptions options = kTrainingModes.contains(mode) ? resolve_options(given, command)
                                                               : read_options(given, command);
    if (options.mode != mode) throw Error("selects " + mode_name(options.mode));
  });
}

// One column per mode, in the order of the enumeration: x is accepted, . is refused.
//  train: devices, --nodes, --peers, MPI with gossip, MPI with servers | simulate | compare:
//  devices,
//  --virtual, --nodes | profile | coordinator | worker: of a coordinator, --peers | server | status
const std::map<std::string, std::string>& expected() {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> rows{
      {"xxxxx x xxx x x .. . .",
       {"format",    "normalise",    "tfidf",         "hash-features", "cache",
        "cache-dir", "read-threads", "hidden",        "activation",    "loss",
        "input",     "prior-bias",   "optimizer",     "learning-rate", "reference-batch",
        "momentum",  "beta1",        "beta2",         "epsilon",       "l2",
        "clip",      "dropout",      "input-dropout", "seed"}},
      {"xxxxx x xxx . x .. . .",
       {"test", "validation-share", "global-batch-size", "batch-size-per-device", "epochs",
        "warmup-epochs", "decay", "decay-epochs", "decay-factor"}},
      {"xxxxx x ... . x .. . .",
       {"eval-every", "resume", "checkpoint-every", "checkpoint-minutes", "keep"}},
      {"xx..x x ... . x .. . .", {"average", "early-stop", "patience"}},
      {"xx..x x xxx . x .. . .", {"balance", "seconds"}},
      {"x.... x ... . . .. . .", {"head", "ablate"}},
      {"xxxxx x xxx x x xx . .", {"data"}},
      {"x.xxx . x.. . x xx . .", {"devices"}},
      {"xx... . x.x . . x. . .", {"emulate"}},
      {"x.xxx . x.. x x xx . .", {"memory-limit"}},
      {"xxxxx x ... . x xx . .", {"strategy"}},
      {"xxxxx x xxx x x .x . .", {"output"}},
      {"xxxxx x xxx x x .. . x", {"json"}},
      {"xxxxx x xxx . x xx x .", {"quiet"}},
      {"xx... . x.x . . .. . .", {"nodes"}},
      {".x... . ... . x .. . .", {"servers"}},
      {"..... . ... . x .. . .", {"workers", "heartbeat", "suspect"}},
      {"xxxxx . ... . x .. . .", {"stall-timeout"}},
      {"x.x.. . ... . . xx . .", {"peers"}},
      {"..... . ... . . x. x .", {"coordinator"}},
      {"..x.. . ... . . xx . .", {"rank"}},
      {"xxxxx . ... . . .. . .", {"transport"}},
      {"..xxx . ... . . .. . .", {"device-strategy"}},
      {"..... . ... . . .. x .", {"threads", "address"}},
      {"..x.. . ... . x .x x .", {"listen", "insecure"}},
      {"..x.. . ... . x xx x x", {"tls", "token", "token-file"}},
      {"..x.. . ... . x xx x .", {"wait-seconds"}},
      {"..x.. . ... . x .x . .", {"evict"}},
      {"..... . xxx . . .. . .",
       {"strategies", "target", "seeds", "evaluations-per-epoch", "tune", "grid", "equal",
        "reference"}},
      {"..... . xx. . . .. . .", {"virtual"}},
  };
  static const std::map<std::string, std::string> by_name = [] {
    std::map<std::string, std::string> all;
    for (const auto& [marks, names] : rows) {
      for (const auto& name : names) all[name] = marks;
    }
    return all;
  }();
  return by_name;
}

/// Options of strategies have an effect in every mode that trains by a strategy.
constexpr const char* kOfStrategies = "xxxxx x xxx . x .. . .";

bool takes(const std::string& marks, Mode mode) {
  std::string packed;
  for (const char c : marks) {
    if (c != ' ') packed += c;
  }
  return packed.at(static_cast<std::size_t>(mode)) == 'x';
}

/// The options of all strategies, or of one.
std::set<std::string> options_of_strategies(const std::string& only = "") {
  std::set<std::string> names;
  for (const auto& strategy : strategies()) {
    if (!only.empty() && strategy.name != only) continue;
    for (const auto& option : options_of(strategy)) names.insert(option.name);
  }
  return names;
}

TEST(Applicable, EveryOptionInEveryMode) {
  const auto of_strategies = options_of_strategies(), of_bsp = options_of_strategies("bsp");
  const TrainOptions defaults;
  for (const auto& info : train_option_table()) {
    const auto found = expected().find(info.name);
    const bool of_strategy = of_strategies.count(info.name) > 0;
    ASSERT_TRUE(of_strategy || found != expected().end()) << info.name << ": not in the table here";
    const std::string marks = of_strategy ? kOfStrategies : found->second;
    for (const Mode mode : all_modes()) {
      SCOPED_TRACE("--" + info.name + " in " + mode_name(mode));
      OptionTexts texts = with_needs(selecting(mode), info.name, mode);
      // Options that select the mode, or must not be empty, are not changed.
      texts.emplace(info.name, info.get(defaults));
      const std::string message = refusal(mode, texts);
      // This mode names a strategy, so only that strategy's options apply.
      const bool other =
          of_strategy && mode == Mode::train_mpi_server && of_bsp.count(info.name) == 0;
      if (takes(marks, mode) && !other) {
        EXPECT_EQ(message, "");
      } else {
        EXPECT_THAT(message, testing::StartsWith("--" + info.name));
      }
    }
  }
  for (const auto& [name, marks] : expected()) EXPECT_NO_THROW(find_train_option(name));
}

TEST(Applicable, SecondsAndEpochsExcludeEachOther) {
  const std::string why = "--epochs has no effect with --seconds: give one of them";
  EXPECT_EQ(refusal(Mode::train, {{"data", "d"}, {"epochs", "3"}, {"seconds", "5"}}), why);
  EXPECT_EQ(refusal(Mode::compare, {{"data", "d"}, {"epochs", "3"}, {"seconds", "5"}}), why);
  EXPECT_EQ(refusal(Mode::compare, {{"data", "d"}, {"equal", "epochs"}, {"seconds", "5"}}),
            "--seconds has no effect with --equal epochs");
}

TEST(Applicable, AResumedRunTakesTheLengthThatIsGiven) {
  const auto resumed = [](const OptionTexts& given, const OptionTexts& run) {
    return resolve_options({given, ""}, Command::train, run);
  };
  TrainOptions options = resumed({{"data", "d"}, {"seconds", "5"}}, {{"epochs", "12"}});
  EXPECT_EQ(options.seconds, 5);
  EXPECT_EQ(options.epochs, 0);
  options = resumed({{"data", "d"}, {"epochs", "12"}}, {{"seconds", "5"}});
  EXPECT_EQ(options.seconds, 0);
  EXPECT_EQ(options.epochs, 12);
  options = resumed({{"data", "d"}}, {{"seconds", "5"}});
  EXPECT_EQ(options.seconds, 5);
}

TEST(Applicable, WhatAnOptionNeedsIsSaid) {
  for (const auto& row : enabled()) {
    for (const Mode mode : all_modes()) {
      const auto marks = expected().find(row.option);
      if (marks == expected().end() || !takes(marks->second, mode)) continue;
      SCOPED_TRACE(std::string(row.option) + " in " + mode_name(mode));
      OptionTexts texts = selecting(mode);
      for (const auto& [name, text] : row.without) {
        if (why_not_in_mode(find_train_option(name), mode).empty()) texts.emplace(name, text);
      }
      texts[row.option] = find_train_option(row.option).get(TrainOptions{});
      EXPECT_THAT(refusal(mode, texts), HasSubstr(row.words));
    }
  }
}

TEST(Applicable, OptionsOfStrategiesNeedAStrategyThatHasThem) {
  EXPECT_EQ(refusal(Mode::train, {{"data", "d"}, {"strategy", "sma"}, {"pull", "0.1"}}), "");
  EXPECT_THAT(refusal(Mode::train, {{"data", "d"}, {"strategy", "sync"}, {"pull", "0.1"}}),
              HasSubstr("strategy sync has no option 'pull'"));
  EXPECT_EQ(refusal(Mode::train, {{"data", "d"}, {"strategy", "sync"}, {"pull", ""}}),
            "--pull needs --strategy elastic, sma");
}

TEST(Applicable, BatchSizesNeedAStrategyThatUsesThem) {
  const auto message = [](const std::string& option, const std::string& strategy, Mode mode) {
    OptionTexts texts = selecting(mode);
    texts[kCompareModes.contains(mode) ? "strategies" : "strategy"] = strategy;
    texts[option] = "16";
    return refusal(mode, texts);
  };
  for (const std::string option : {"global-batch-size", "batch-size-per-device"}) {
    for (const auto& strategy : strategies()) {
      const auto own = parse_strategy(strategy.name).batch_options();
      SCOPED_TRACE(option + " of " + strategy.name);
      for (const Mode mode : {Mode::train, Mode::simulate, Mode::compare, Mode::coordinator}) {
        const std::string found = message(option, strategy.name, mode);
        EXPECT_EQ(found.empty(), own.empty()) << found;
        if (!own.empty()) {
          EXPECT_EQ(found, fmt::format("--{} has no effect here: {} has {} instead", option,
                                       strategy.name, fmt::join(own, " and ")));
        }
      }
    }
    EXPECT_EQ(message(option, "adaptive-sgd:b-max=64", Mode::train),
              "--" + option + " has no effect here: adaptive-sgd has b-max instead");
    EXPECT_EQ(message(option, "hogwild,sync", Mode::compare), "") << "one of them uses it";
    EXPECT_EQ(message(option, "hogwild,auto", Mode::compare), "");
    EXPECT_EQ(message(option, "hogwild,hogbatch:preset=paper", Mode::compare_virtual),
              "--" + option +
                  " has no effect here: hogwild has cpu-batch, hogbatch has cpu-batch and "
                  "accelerator-batch instead");
  }
  // The options of strategies count however they are written.
  EXPECT_EQ(refusal(Mode::train, {{"data", "d"},
                                  {"strategy", "adaptive-sgd"},
                                  {"b-max", "64"},
                                  {"global-batch-size", "16"}}),
            "--global-batch-size has no effect here: adaptive-sgd has b-max instead");
}

TEST(Applicable, TheReasonFitsTheMode) {
  const auto message = [](Mode mode, const std::string& option, const std::string& text) {
    OptionTexts texts = selecting(mode);
    texts[option] = text;
    return refusal(mode, texts);
  };
  EXPECT_EQ(message(Mode::train, "insecure", "true"), "--insecure needs --peers");
  EXPECT_EQ(message(Mode::train_nodes, "insecure", "true"), "--insecure needs --peers");
  EXPECT_EQ(message(Mode::worker, "listen", "a:1"), "--listen needs --peers");
  EXPECT_EQ(message(Mode::train, "servers", "2"), "--servers needs --nodes");
  EXPECT_EQ(message(Mode::train, "device-strategy", "sync"),
            "--device-strategy needs --peers or --transport mpi");
  EXPECT_EQ(message(Mode::train_mpi_gossip, "wait-seconds", "5"),
            "--wait-seconds has no effect under --transport mpi: MPI starts all ranks together");
  EXPECT_THAT(message(Mode::train_mpi_server, "nodes", "2"),
              HasSubstr("--nodes: not with --transport mpi"));
  EXPECT_EQ(message(Mode::train, "heartbeat", "1"),
            "--heartbeat is not an option of evener train, but of evener coordinator");
  EXPECT_EQ(message(Mode::compare, "keep", "3"), "--keep: a comparison writes no checkpoints");
  EXPECT_EQ(message(Mode::train_nodes, "peers", "a:1,b:1"), "--peers and --nodes: choose one");
  EXPECT_EQ(message(Mode::compare_nodes, "virtual", "f"), "--virtual and --nodes: choose one");
  EXPECT_EQ(message(Mode::worker_peers, "coordinator", "a:1"),
            "--coordinator and --peers: choose one");
}

class GivenByConfig : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    std::ofstream(folder_ / "c.toml") << text;
    return folder_ / "c.toml";
  }
  std::string refusal_of(const std::string& text, const OptionTexts& more, Command command) {
    return error_of([&] { resolve_options(GivenOptions{more, write(text)}, command); });
  }
  Folder folder_;
};

TEST_F(GivenByConfig, FilesGiveOptionsOfClustersToo) {
  const TrainOptions peer = resolve_options(
      GivenOptions{{{"rank", "1"}},
                   write("data = \"d\"\npeers = [\"a:1\", \"b:1\"]\nrank = 0\nwait_seconds = 5\n")},
      Command::train);
  EXPECT_EQ(peer.mode, Mode::train_peers);
  EXPECT_EQ(peer.cluster.peers, "a:1,b:1");
  EXPECT_EQ(peer.cluster.rank, 1) << "the command line overrides the file";
  EXPECT_EQ(peer.cluster.wait_seconds, 5);
  EXPECT_EQ(peer.cluster.evict, ClusterOptions{}.evict);

  const TrainOptions coordinator = resolve_options(
      GivenOptions{{},
                   write("data = \"d\"\nworkers = \"2:8\"\nheartbeat = 0.5\ninsecure = true\n")},
      Command::coordinator);
  EXPECT_EQ(coordinator.cluster.workers, "2:8");
  EXPECT_EQ(coordinator.cluster.heartbeat, 0.5);
  EXPECT_TRUE(coordinator.cluster.insecure);

  const TrainOptions worker =
      read_options(GivenOptions{{}, write("coordinator = \"a:1\"\nrank = 3\nemulate = \"x0.5\"\n")},
                   Command::worker);
  EXPECT_EQ(worker.cluster.coordinator, "a:1");
  EXPECT_EQ(worker.cluster.rank, 3);
  EXPECT_EQ(worker.emulate, "x0.5");
}

TEST_F(GivenByConfig, LinesWithoutEffectAreNamed) {
  EXPECT_EQ(refusal_of("epochs = 3\nkeep = 5\n", {{"data", "d"}}, Command::compare),
            folder_ / "c.toml:2: --keep: a comparison writes no checkpoints");
  EXPECT_EQ(refusal_of("epochs = 3\nmomentum = 0.5\n", {{"data", "d"}}, Command::train),
            folder_ / "c.toml:2: --momentum needs --optimizer momentum");
  EXPECT_EQ(refusal_of("heartbeat = 0.5\n", {{"data", "d"}}, Command::train),
            folder_ /
                "c.toml:1: --heartbeat is not an option of evener train, but of evener "
                "coordinator");
}

TEST_F(GivenByConfig, LinesThatRepeatADefaultChangeNothing) {
  const std::string all = default_config_text();
  for (const Mode mode : all_modes()) {
    if (!kTrainingModes.contains(mode)) continue;
    SCOPED_TRACE(mode_name(mode));
    EXPECT_EQ(refusal_of(all, selecting(mode), command_of(mode)), "");
  }
  // They still override the options of a resumed run.
  std::ofstream(folder_ / "config.toml") << "data = \"d\"\nseed = 9\n";
  const TrainOptions options = resolve_options(
      GivenOptions{{{"resume", folder_.path()}}, write("seed = 1\n")}, Command::train);
  EXPECT_EQ(options.seed, 1U);
}

TEST_F(GivenByConfig, OptionsOfAResumedRunDoNotCountAsGiven) {
  std::ofstream(folder_ / "config.toml") << "data = \"d\"\nmomentum = 0.5\nkeep = 4\n";
  const OptionTexts resumed{{"resume", folder_.path()}};
  EXPECT_EQ(resolve_options(GivenOptions{resumed, ""}, Command::train).keep, 4U);
  OptionTexts more = resumed;
  more["momentum"] = "0.5";
  EXPECT_EQ(refusal(Mode::train, more), "--momentum needs --optimizer momentum");
}

TEST_F(GivenByConfig, ARunsConfigMakesTheSameRunAgainInEveryMode) {
  const std::vector<OptionTexts> runs{
      {},
      {{"optimizer", "sgd"}, {"decay", "constant"}, {"hidden", "none"}, {"cache", "false"}},
      {{"optimizer", "momentum"}, {"momentum", "0.7"}, {"batch-size-per-device", "8"}},
      {{"test", "t"}, {"eval-every", "2"}, {"decay", "step"}, {"decay-epochs", "3"}},
      {{"test", "t"}, {"early-stop", "p@1"}, {"patience", "3"}, {"epochs", "4"}, {"average", "2"}},
      {{"validation-share", "0.2"}, {"strategy", "elastic"}, {"pull", "0.5"}},
      {{"devices", "cpu:1,cpu:1"}, {"emulate", "1=x0.5"}, {"strategy", "sync:split=speed"}},
      {{"devices", "cpu:1,cpu:1"}, {"strategy", "hogwild:cpu-batch=4"}},
  };
  for (const Mode mode : all_modes()) {
    if (!kTrainingModes.contains(mode)) continue;
    for (const auto& run : runs) {
      OptionTexts texts = selecting(mode);
      for (const auto& [name, text] : run) texts.emplace(name, text);
      if (!refusal(mode, texts).empty()) continue;  // not valid in this mode
      SCOPED_TRACE(mode_name(mode) + (run.empty() ? "" : " with --" + run.begin()->first));
      texts["token"] = "secret";
      if (!find_train_option("token").modes.contains(mode)) texts.erase("token");
      const Command command = command_of(mode);
      const TrainOptions first = resolve_options(GivenOptions{texts, ""}, command);
      const std::string config = config_text(first);
      EXPECT_EQ(config.find("secret"), std::string::npos);
      for (const auto& [name, text] : option_texts(first)) EXPECT_NE(text, "secret") << name;
      OptionTexts again;  // the file does not hold the mode
      for (const auto& [name, text] : selecting(mode)) {
        if (!find_train_option(name).of_run) again[name] = text;
      }
      TrainOptions second;
      ASSERT_EQ(error_of([&] {
                  second = resolve_options(GivenOptions{again, write(config)}, command);
                }),
                "")
          << config;
      EXPECT_EQ(second.mode, mode);
      EXPECT_EQ(option_texts(second), option_texts(first)) << config;
    }
  }
}

}  // namespace
}  // namespace evener
