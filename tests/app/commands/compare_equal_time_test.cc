// evener compare gives every strategy the same training time.
#include <filesystem>

#include "tests/app/command.h"

namespace evener {
namespace {

using testing::ElementsAre;

// Of one task: 256 rows on the slow card.
constexpr double kLongestTask = 0.0005 + 256 * 80e-6;

class CompareEqualTime : public CommandTest {
 protected:
  CompareEqualTime() {
    EXPECT_EQ(run({"dataset", "synthetic", "-o", folder_ / "data", "--rows", "2000", "--features",
                   "50", "--labels", "10"})
                  .code,
              0);
    put_contents(folder_ / "cards.toml", card("slow", 80) + card("fast", 20));
    put_contents(folder_ / "host.toml",
                 card("fast", 20) +
                     "[[device]]\nname = \"host\"\nkind = \"cpu\"\nthreads = 2\nfixed-ms = 0.1\n"
                     "per-row-us = 100\n");
  }
  static std::string card(const std::string& name, int per_row) {
    return "[[device]]\nname = \"" + name +
           "\"\nkind = \"accelerator\"\nfixed-ms = 0.5\nper-row-us = " + std::to_string(per_row) +
           "\n";
  }
  Outcome compare(const std::vector<std::string>& more, const std::string& cluster = "cards.toml") {
    std::filesystem::remove_all(folder_ / "out");
    std::vector<std::string> all{"compare", folder_ / "data", "--hidden", "8", "--epochs", "4",
                                 "-o",      folder_ / "out"};
    if (!cluster.empty()) {
      all.insert(all.end(), {"--virtual", folder_ / cluster});
    }
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  }
  json result_of(const std::vector<std::string>& more, const std::string& cluster = "cards.toml") {
    const Outcome outcome = compare(more, cluster);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    messages_ = outcome.err;
    return json::parse(contents_of(folder_ / "out/comparison.json"));
  }
  static std::vector<std::string> names(const json& comparison) {
    std::vector<std::string> names;
    for (const auto& strategy : comparison.at("strategies")) {
      names.push_back(strategy.at("strategy"));
    }
    return names;
  }

  std::string messages_;
};

TEST_F(CompareEqualTime, EveryRunHasTheTimeOfTheReference) {
  const json comparison =
      result_of({"--strategies", "adaptive-sgd,sync,sync:split=speed,asp,auto", "--seeds", "2"});
  EXPECT_EQ(comparison.at("equal"), "seconds");
  EXPECT_EQ(comparison.at("reference"), "sync");
  const json& reference = comparison.at("strategies")[1].at("runs");
  for (const auto& strategy : comparison.at("strategies")) {
    for (std::size_t i = 0; i < 2; ++i) {
      const json& run_ = strategy.at("runs")[i];
      SCOPED_TRACE(strategy.at("strategy").get<std::string>() + " " + run_.at("seed").dump());
      const double budget = run_.at("budget_seconds");
      EXPECT_EQ(budget, reference[i].at("seconds").get<double>());
      EXPECT_GE(run_.at("seconds").get<double>(), budget);
      EXPECT_LT(run_.at("seconds").get<double>(), budget + kLongestTask + 1e-4);
      ASSERT_EQ(run_.at("curve").size(), 4U);
      for (std::size_t at = 0; at < 4; ++at) {
        const double due = budget * static_cast<double>(at + 1) / 4;
        EXPECT_NEAR(run_.at("curve")[at].at("seconds").get<double>(), due, kLongestTask + 1e-4);
      }
    }
  }
  EXPECT_EQ(reference[0].at("epochs"), 4.0);
  EXPECT_GT(comparison.at("strategies")[2].at("epochs").at("median").get<double>(), 5);
  EXPECT_THAT(contents_of(folder_ / "out/report.html"),
              HasSubstr(": what sync needs for 4 epochs"));
}

// The time of a long task belongs to all points that it spans.
TEST_F(CompareEqualTime, TheWorkOverTimeAddsUpToTheWorkOfTheRun) {
  const json comparison = result_of({"--strategies", "sync,adaptive-sgd", "--seeds", "1"});
  for (const auto& strategy : comparison.at("strategies")) {
    for (const auto& worker : strategy.at("runs")[0].at("workers")) {
      SCOPED_TRACE(strategy.at("strategy").get<std::string>() + " " + worker.at("name").dump());
      double sum = 0;
      for (const auto& point : worker.at("series")) sum += point.at("compute").get<double>();
      EXPECT_EQ(worker.at("series").size(), 100U);
      EXPECT_NEAR(sum / 100, worker.at("compute").get<double>(), 0.005);
      EXPECT_EQ(worker.at("series").back().at("updates"), worker.at("updates").get<double>());
    }
  }
}

TEST_F(CompareEqualTime, EqualEpochsIsTheOtherWay) {
  const json comparison = result_of({"--strategies", "sync,adaptive-sgd", "--seeds", "1", "--equal",
                                     "epochs", "--evaluations-per-epoch", "2"});
  EXPECT_EQ(comparison.at("equal"), "epochs");
  EXPECT_TRUE(comparison.at("reference").is_null());
  for (const auto& strategy : comparison.at("strategies")) {
    const json& run_ = strategy.at("runs")[0];
    EXPECT_EQ(run_.at("epochs"), 4.0);
    EXPECT_TRUE(run_.at("budget_seconds").is_null());
    EXPECT_EQ(run_.at("curve").size(), 8U);
  }
}

TEST_F(CompareEqualTime, ATimeIsGivenDirectly) {
  const Outcome outcome = run({"compare", folder_ / "data", "--hidden", "8", "--virtual",
                               folder_ / "cards.toml", "--strategies", "sync,adaptive-sgd",
                               "--seconds", "1.5", "--seeds", "1", "-o", folder_ / "out"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("every run trained for 1.5 s of virtual time\n"));
  const json comparison = json::parse(contents_of(folder_ / "out/comparison.json"));
  EXPECT_TRUE(comparison.at("reference").is_null());
  for (const auto& strategy : comparison.at("strategies")) {
    EXPECT_EQ(strategy.at("runs")[0].at("budget_seconds"), 1.5);
    EXPECT_EQ(strategy.at("runs")[0].at("curve").size(), 20U);
  }
}

TEST_F(CompareEqualTime, TheReferenceIsChosen) {
  EXPECT_EQ(result_of({"--strategies", "elastic,sma", "--seeds", "1"}).at("reference"), "elastic");
  const json comparison =
      result_of({"--strategies", "elastic,sync", "--reference", "elastic", "--seeds", "1"});
  EXPECT_EQ(comparison.at("reference"), "elastic");
  EXPECT_EQ(comparison.at("strategies")[0].at("runs")[0].at("epochs"), 4.0);
  expect_error({"compare", folder_ / "data", "--strategies", "sync", "--reference", "sma",
                "--virtual", folder_ / "cards.toml"},
               2, "--reference sma: is none of the strategies to compare");
  for (const auto& [option, value] : {std::pair{"--equal", "epochs"}, {"--seconds", "1"}}) {
    expect_error({"compare", folder_ / "data", "--strategies", "sync,sma", "--reference", "sma",
                  option, value},
                 2, std::string("--reference has no effect with ") + option);
  }
  expect_error({"compare", folder_ / "data", "--equal", "epochs", "--seconds", "1"}, 2,
               "--seconds has no effect with --equal epochs");
}

TEST_F(CompareEqualTime, TheUsualStrategies) {
  EXPECT_THAT(names(result_of({"--seeds", "1"})),
              ElementsAre("sync", "sync:split=speed", "adaptive-sgd", "auto"));
  EXPECT_THAT(names(result_of({"--seeds", "1"}, "host.toml")),
              ElementsAre("sync", "sync:split=speed", "adaptive-sgd", "adaptive-hogbatch", "auto"));
}

TEST_F(CompareEqualTime, TrialsOfAutoAreChargedAndItsChoiceIsSaid) {
  const Outcome outcome = compare({"--strategies", "sync,auto", "--seeds", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("\nauto: decided: "),
                                 HasSubstr("\nauto: its trials of devices took ")));
  const json comparison = json::parse(contents_of(folder_ / "out/comparison.json"));
  const json& run_ = comparison.at("strategies")[1].at("runs")[0];
  EXPECT_GT(run_.at("trial_seconds").get<double>(), 0);
  EXPECT_LT(run_.at("seconds").get<double>(),
            run_.at("budget_seconds").get<double>() + kLongestTask + 1e-4);
  EXPECT_THAT(contents_of(folder_ / "out/report.html"), HasSubstr("<li>auto: decided: "));
}

TEST_F(CompareEqualTime, SequentialTrainsOnTheFastestDevice) {
  json comparison = result_of({"--strategies", "sync,sequential", "--seeds", "1"});
  EXPECT_THAT(messages_, HasSubstr("sequential trains on device 1, fast: "));
  json workers = comparison.at("strategies")[1].at("runs")[0].at("workers");
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_EQ(workers[0].at("name"), "fast");
  comparison = result_of({"--strategies", "sync,sequential", "--seeds", "1", "--devices",
                          "cpu:1,cpu:1", "--emulate", "0=x0.1"},
                         "");
  workers = comparison.at("strategies")[1].at("runs")[0].at("workers");
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_EQ(workers[0].at("name"), "cpu:1");
  EXPECT_EQ(comparison.at("devices").size(), 2U);
}

TEST_F(CompareEqualTime, OneSeedRecommendsNothing) {
  const Outcome outcome = compare({"--strategies", "sync,sync:split=speed", "--seeds", "1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("ahead with this one seed: --strategy sync:split=speed"),
                                 Not(HasSubstr("recommended"))));
  const json comparison = json::parse(contents_of(folder_ / "out/comparison.json"));
  EXPECT_TRUE(comparison.at("recommended").is_null());
  EXPECT_EQ(comparison.at("ahead_with_one_seed"), "sync:split=speed");
  EXPECT_THAT(contents_of(folder_ / "out/report.html"),
              AllOf(HasSubstr("<strong>One seed</strong>"), Not(HasSubstr(">recommended<"))));
}

TEST_F(CompareEqualTime, ATargetReachedAtTheFirstEvaluationIsSaid) {
  const Outcome outcome =
      compare({"--strategies", "sync,adaptive-sgd", "--seeds", "2", "--target", "p@1=0.001"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      HasSubstr("reached the target at the first evaluation or before it: 2 of 2 runs of sync, "));
  const json comparison = json::parse(contents_of(folder_ / "out/comparison.json"));
  EXPECT_EQ(comparison.at("strategies")[0].at("runs")[0].at("reached_at_first_evaluation"), true);
}

TEST_F(CompareEqualTime, TheTimeToTheTargetIsInterpolated) {
  const json comparison = result_of({"--strategies", "sync,sync:split=speed", "--seeds", "3"});
  const double target = comparison.at("target");
  int between = 0;
  for (const auto& strategy : comparison.at("strategies")) {
    for (const auto& run_ : strategy.at("runs")) {
      const json& curve = run_.at("curve");
      std::size_t at = 0;
      while (at < curve.size() && curve[at].at("quality").get<double>() < target) ++at;
      if (at == curve.size()) {
        EXPECT_TRUE(run_.at("seconds_to_target").is_null());
        continue;
      }
      if (at == 0) continue;
      ++between;
      const double q0 = curve[at - 1].at("quality"), q1 = curve[at].at("quality");
      const double t0 = curve[at - 1].at("seconds"), t1 = curve[at].at("seconds");
      EXPECT_NEAR(run_.at("seconds_to_target").get<double>(),
                  t0 + (t1 - t0) * (target - q0) / (q1 - q0), 1e-12);
    }
  }
  EXPECT_GT(between, 0);
}

TEST_F(CompareEqualTime, TuningHasTheSameTime) {
  const json comparison = result_of(
      {"--strategies", "sync,adaptive-sgd", "--seeds", "1", "--tune", "lr", "--grid", "0.3,1"});
  for (const auto& strategy : comparison.at("strategies")) {
    EXPECT_EQ(strategy.at("tuning").size(), 2U);
    EXPECT_GT(strategy.at("runs")[0].at("budget_seconds").get<double>(), 0);
  }
}

// Tasks of about a millisecond beside the work of the scheduler.
TEST_F(CompareEqualTime, WorkersAreBusyForTheTimeAtMost) {
  const json comparison = result_of({"--strategies", "sync,adaptive-sgd,auto,hogwild", "--seeds",
                                     "1", "--devices", "cpu:1,cpu:1", "--global-batch-size", "16"},
                                    "");
  for (const auto& strategy : comparison.at("strategies")) {
    for (const auto& worker : strategy.at("runs")[0].at("workers")) {
      const double busy = worker.at("compute").get<double>() + worker.at("transfer").get<double>();
      EXPECT_LE(busy, 1.0001) << strategy.at("strategy") << " " << worker.at("name");
    }
  }
}

TEST_F(CompareEqualTime, AReferenceThatDivergesGivesNoTime) {
  const Outcome outcome = compare({"--strategies", "sync,elastic", "--optimizer", "sgd",
                                   "--learning-rate", "1e30", "--l2", "1", "--seeds", "1"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("the reference strategy, sync, diverged"));
}

}  // namespace
}  // namespace evener
