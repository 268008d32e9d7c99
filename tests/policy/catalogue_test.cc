#include "evener/policy/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/core/error.h"

namespace evener {
namespace {

using testing::HasSubstr;

std::string complaint(const std::string& text) {
  try {
    parse_strategy(text);
  } catch (const UsageError& problem) {
    return problem.what();
  }
  return "";
}

TEST(Catalogue, HasEveryStrategyOfThePapersOnce) {
  std::vector<std::string> names;
  for (const auto& strategy : strategies()) names.push_back(strategy.name);
  EXPECT_THAT(names,
              testing::ElementsAre("sequential", "hogwild", "hogbatch", "adaptive-hogbatch", "sync",
                                   "elastic", "sma", "adaptive-sgd", "bsp", "asp", "ssp", "dssp",
                                   "dasp", "local-sgd", "gossip", "adaptive-gossip"));
}

TEST(Catalogue, EveryDefaultIsValidAndEveryPresetMakesAPolicy) {
  for (const auto& strategy : strategies()) {
    for (const std::string preset : {"", ":preset=paper", ":preset=released"}) {
      if (!preset.empty() && strategy.released.empty()) continue;
      PolicyConfig config;
      config.workers = strategy.sharing == Sharing::single ? 1 : 2;
      config.values = parse_strategy(strategy.name + preset).values;
      EXPECT_NE(strategy.make(config), nullptr) << strategy.name << preset;
    }
  }
}

TEST(Catalogue, NamesTheNearestStrategyAndOption) {
  EXPECT_THAT(complaint("adaptive-sdg"), HasSubstr("did you mean 'adaptive-sgd'"));
  EXPECT_THAT(complaint("adaptive-sgd:gama=0"), HasSubstr("did you mean 'gamma'"));
  EXPECT_THAT(complaint("sync:gamma=0"), HasSubstr("strategy sync has no option 'gamma'"));
  EXPECT_THAT(complaint("elastic:period"), HasSubstr("is not option=value"));
}

TEST(Catalogue, RefusesValuesOutOfRange) {
  EXPECT_THAT(complaint("elastic:period=0"), HasSubstr("period: '0' is not a number in"));
  EXPECT_THAT(complaint("elastic:period=x"), HasSubstr("is not a number"));
  EXPECT_THAT(complaint("elastic:period=nan"), HasSubstr("is not a number"));
  EXPECT_THAT(complaint("hogbatch:writeback=add"), HasSubstr("not one of delta, overwrite"));
  EXPECT_THAT(complaint("elastic:period=auto"), HasSubstr("is not a number"));
  EXPECT_EQ(complaint("elastic:pull=auto"), "");
}

TEST(Catalogue, BatchBoundsMustNotCross) {
  PolicyConfig config;
  config.values = parse_strategy("adaptive-sgd:b-max=64:b-min=128").values;
  EXPECT_THROW(find_strategy("adaptive-sgd").make(config), UsageError);
  config.values = parse_strategy("adaptive-hogbatch:cpu-min=64:cpu-max=2").values;
  EXPECT_THROW(find_strategy("adaptive-hogbatch").make(config), UsageError);
}

TEST(Catalogue, ThePresetComesFirstWhereverItStands) {
  const auto choice = parse_strategy("adaptive-sgd:b-min=16:preset=released");
  EXPECT_EQ(choice.values.word("b-min"), "16");
  EXPECT_EQ(choice.values.word("b-max"), "1024");
  EXPECT_EQ(parse_strategy("hogbatch:preset=released").values.word("writeback"), "overwrite");
  EXPECT_EQ(parse_strategy("hogbatch").values.word("writeback"), "delta");
}

TEST(Catalogue, AChoiceSaysWhatDiffersFromTheDefaults) {
  EXPECT_EQ(parse_strategy("adaptive-sgd").text(), "adaptive-sgd");
  EXPECT_EQ(parse_strategy("adaptive-sgd:gamma=0:delta=0.1").text(), "adaptive-sgd:gamma=0");
  const auto again = parse_strategy(parse_strategy("sma:preset=released").text());
  EXPECT_EQ(again.values.word("pull"), "0.5");
}

TEST(Catalogue, StrategiesRefuseWorkersTheyCannotUse) {
  const WorkerTraits cpu{"cpu:2", true, 2, 0}, card{"card", false, 1, 0};
  EXPECT_THROW(check_workers(find_strategy("sequential"), {cpu, cpu}), UsageError);
  EXPECT_THROW(check_workers(find_strategy("hogwild"), {cpu, card}), UsageError);
  EXPECT_THROW(check_workers(find_strategy("sync"), {}), UsageError);
  EXPECT_NO_THROW(check_workers(find_strategy("hogbatch"), {cpu, card}));
}

TEST(Catalogue, EveryStrategyOfDevicesComposesWithEveryOneOfNodesAndNoOther) {
  EXPECT_THAT(names_of(true), testing::ElementsAre("bsp", "asp", "ssp", "dssp", "dasp", "gossip",
                                                   "adaptive-gossip"));
  EXPECT_EQ(names_of(true).size() + names_of(false).size(), strategies().size());
  for (const auto& inside : strategies()) {
    for (const auto& between : strategies()) {
      EXPECT_EQ(composes(inside, between), is_for_nodes(between) && !is_for_nodes(inside));
    }
  }
}

TEST(Catalogue, RefusesAStrategyOfNodesInsideANodeWithAReason) {
  for (const auto& name : names_of(true)) {
    try {
      check_inside_node(find_strategy(name));
      ADD_FAILURE() << name;
    } catch (const UsageError& problem) {
      EXPECT_THAT(problem.what(), HasSubstr("strategy " + name +
                                            " is of nodes; the devices of one "
                                            "node train by one of sequential, hogwild, "));
    }
  }
  for (const auto& name : names_of(false)) EXPECT_NO_THROW(check_inside_node(find_strategy(name)));
}

}  // namespace
}  // namespace evener
