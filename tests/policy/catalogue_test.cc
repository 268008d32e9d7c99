#include "evener/policy/catalogue.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/places.h"
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

const std::vector<std::string> kOfThePapers{
    "sequential", "hogwild",   "hogbatch", "adaptive-hogbatch",
    "sync",       "elastic",   "sma",      "adaptive-sgd",
    "bsp",        "asp",       "ssp",      "dssp",
    "dasp",       "local-sgd", "gossip",   "adaptive-gossip"};

/// Those of the papers alone, so that a new strategy needs no change here.
std::vector<std::string> of_the_papers(std::vector<std::string> names) {
  std::erase_if(names, [](const std::string& name) {
    return std::count(kOfThePapers.begin(), kOfThePapers.end(), name) == 0;
  });
  return names;
}

TEST(Catalogue, HasEveryStrategyOfThePapersOnceInThisOrder) {
  std::vector<std::string> names;
  for (const auto& strategy : strategies()) names.push_back(strategy.name);
  EXPECT_EQ(of_the_papers(names), kOfThePapers);
}

TEST(Catalogue, HasARowForEachFileOfTheFolder) {
  std::set<std::string> files, rows;
  const std::filesystem::path folder(EVENER_SOURCE_DIR "/evener/policy/strategies");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::string name = entry.path().stem();
    std::replace(name.begin(), name.end(), '_', '-');
    files.insert(name);
  }
  for (const auto& strategy : strategies()) rows.insert(strategy.name);
  EXPECT_TRUE(std::includes(rows.begin(), rows.end(), files.begin(), files.end()));
}

TEST(Catalogue, EveryDefaultIsValidAndEveryPresetMakesAPolicy) {
  for (const auto& strategy : strategies()) {
    std::vector<std::string> texts{strategy.name};
    for (const auto& preset : strategy.presets) {
      texts.push_back(strategy.name + ":preset=" + preset.name);
    }
    for (const auto& text : texts) {
      PolicyConfig config;
      config.workers = strategy.sharing == Sharing::single ? 1 : 2;
      config.values = parse_strategy(text).values;
      EXPECT_NE(strategy.make(config), nullptr) << text;
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

TEST(Catalogue, ThePresetIsAppliedFirstWhereverItIsWritten) {
  const auto choice = parse_strategy("adaptive-sgd:b-min=16:preset=released");
  EXPECT_EQ(choice.values.word("b-min"), "16");
  EXPECT_EQ(choice.values.word("b-max"), "1024");
  EXPECT_EQ(parse_strategy("hogbatch:preset=released").values.word("writeback"), "overwrite");
  EXPECT_EQ(parse_strategy("hogbatch").values.word("writeback"), "delta");
}

TEST(Catalogue, AChoicePrintsWhatDiffersFromTheDefaults) {
  EXPECT_EQ(parse_strategy("adaptive-sgd").text(), "adaptive-sgd");
  EXPECT_EQ(parse_strategy("adaptive-sgd:gamma=0.5:delta=0.1").text(), "adaptive-sgd:gamma=0.5");
  EXPECT_EQ(parse_strategy("adaptive-sgd:gamma=0.5:preset=paper").text(),
            "adaptive-sgd:preset=paper:gamma=0.5");
  const auto again = parse_strategy(parse_strategy("sma:preset=released").text());
  EXPECT_EQ(again.values.word("pull"), "0.5");
}

TEST(Catalogue, PresetsAreAnOptionWhereThereAreSeveral) {
  const auto options = options_of(find_strategy("sma"));
  EXPECT_EQ(options.front().name, "preset");
  EXPECT_EQ(options.front().value, "evener");
  EXPECT_THAT(options.front().choices, testing::ElementsAre("evener", "paper", "released"));
  EXPECT_EQ(options.front().help,
            "defaults of our measurements, of the paper, or of its authors' code");
  EXPECT_EQ(options_of(find_strategy("elastic")).front().help,
            "defaults of our measurements, or of the paper");
  EXPECT_THAT(complaint("sync:preset=paper"), HasSubstr("has no option 'preset'"));
}

TEST(Catalogue, AutomaticStrategiesParse) {
  EXPECT_EQ(automatic_strategy(AutoFor::one_device), "sequential");
  EXPECT_EQ(automatic_strategy(AutoFor::several_devices), "sync:split=speed");
  EXPECT_EQ(automatic_strategy(AutoFor::dear_exchanges), "adaptive-sgd");
  EXPECT_EQ(automatic_strategy(AutoFor::nodes), "dasp");
  EXPECT_EQ(automatic_strategy(AutoFor::peers), "adaptive-gossip");
  for (const auto what : {AutoFor::one_device, AutoFor::several_devices, AutoFor::dear_exchanges,
                          AutoFor::nodes, AutoFor::peers}) {
    EXPECT_EQ(parse_strategy(automatic_strategy(what)).text(), automatic_strategy(what));
  }
}

TEST(Catalogue, AChoiceCallsTheFunctionsOfItsRow) {
  EXPECT_TRUE(parse_strategy("hogbatch:preset=released").overwrites());
  EXPECT_FALSE(parse_strategy("hogbatch").overwrites());
  EXPECT_FALSE(parse_strategy("sync").overwrites());
  EXPECT_EQ(parse_strategy("bsp:compress=fp16").compression().kind, Compression::Kind::fp16);
  EXPECT_EQ(parse_strategy("bsp:compress=top-k:top-k=0.2").compression().share, 0.2);
  EXPECT_FALSE(parse_strategy("sync").compression().active());
  EXPECT_EQ(parse_strategy("gossip:period=3").gossip().period, 3U);
  EXPECT_TRUE(parse_strategy("adaptive-gossip:rows=changed").gossip().changed_rows);
  EXPECT_THROW(parse_strategy("bsp").gossip(), Error);
  const HintSetup large{1'000'000, true, true};
  EXPECT_THAT(parse_strategy("hogwild").hint(large), HasSubstr("faster: hogwild:cpu-batch=32"));
  EXPECT_EQ(parse_strategy("hogwild:cpu-batch=32").hint(large), "");
  EXPECT_THAT(parse_strategy("hogbatch:cpu-batch=32:accelerator-batch=1").hint(large),
              HasSubstr("faster: hogbatch:accelerator-batch=1024"));
  EXPECT_EQ(parse_strategy("adaptive-hogbatch").hint(large), "") << "it finds its own sizes";
}

/// Rows of the first assignment to one worker.
std::size_t first_batch(const StrategyChoice& choice, std::size_t batch, std::size_t per_device,
                        bool in_place) {
  PolicyConfig config;
  config.batch = batch;
  config.batch_per_device = per_device;
  config.values = choice.values;
  const auto policy = choice.strategy->make(config);
  policy->on(Joined{0, {.name = "worker", .in_place = in_place}});
  for (const auto& decision : policy->on(EpochBegan{0, 100'000})) {
    if (const auto* assign = std::get_if<Assign>(&decision)) return assign->rows;
  }
  return 0;
}

TEST(Catalogue, EveryRowSaysWhetherItUsesTheRunsBatchSize) {
  std::vector<std::string> texts{"adaptive-sgd:b-max=64", "adaptive-sgd:preset=released"};
  for (const auto& strategy : strategies()) texts.push_back(strategy.name);
  for (const auto& text : texts) {
    SCOPED_TRACE(text);
    const StrategyChoice choice = parse_strategy(text);
    for (const bool in_place : {true, false}) {
      const std::size_t rows = first_batch(choice, 600, 0, in_place);
      EXPECT_GT(rows, 0U);
      EXPECT_EQ(rows != first_batch(choice, 900, 0, in_place), choice.batch_options().empty());
      EXPECT_EQ(rows != first_batch(choice, 600, 300, in_place), choice.batch_options().empty());
    }
  }
}

TEST(Catalogue, RefusesRowsThatAreNotComplete) {
  const auto refusal = [](auto change) -> std::string {
    Strategy row = find_strategy("sma");
    row.name = "ours";
    change(row);
    try {
      register_strategy(row);
    } catch (const Error& problem) {
      return problem.what();
    }
    return "";
  };
  EXPECT_THAT(refusal([](Strategy& row) { row.name = "sync"; }), HasSubstr("one of this name"));
  EXPECT_THAT(refusal([](Strategy& row) { row.name = "our:own"; }), HasSubstr("lower-case"));
  EXPECT_THAT(refusal([](Strategy& row) { row.name = ""; }), HasSubstr("lower-case"));
  EXPECT_THAT(refusal([](Strategy& row) { row.make = {}; }), HasSubstr("makes no policy"));
  EXPECT_THAT(refusal([](Strategy& row) { row.sharing = Sharing::peers; }),
              HasSubstr("no rule for its peers"));
  EXPECT_THAT(refusal([](Strategy& row) { row.options.clear(); }),
              HasSubstr("paper is of an option it does not have: step"));
  EXPECT_THAT(refusal([](Strategy& row) { row.options[0].value = "2"; }),
              HasSubstr("pull: '2' is not a number"));
  EXPECT_THAT(refusal([](Strategy& row) { row.options[0].name = "Pull it"; }),
              HasSubstr("strategy 'ours': option 'Pull it': a name has lower-case"));
  EXPECT_THAT(refusal([](Strategy& row) { row.options.push_back(row.options[0]); }),
              HasSubstr("option 'pull' is listed twice"));
  EXPECT_THAT(refusal([](Strategy& row) { row.batch_options = {"batch"}; }),
              HasSubstr("batch_options names an option it does not have: batch"));
  EXPECT_THAT(refusal([](Strategy& row) { row.automatic = {{AutoFor::nodes}}; }),
              HasSubstr("dasp is automatic"));
  EXPECT_THROW(find_strategy("ours"), UsageError) << "none of them is there";
}

TEST(Catalogue, StrategiesRefuseWorkersTheyCannotUse) {
  const WorkerTraits cpu{"cpu:2", true, 2, 0}, card{"card", false, 1, 0};
  EXPECT_THROW(check_workers(find_strategy("sequential"), {cpu, cpu}), UsageError);
  EXPECT_THROW(check_workers(find_strategy("hogwild"), {cpu, card}), UsageError);
  EXPECT_THROW(check_workers(find_strategy("sync"), {}), UsageError);
  EXPECT_NO_THROW(check_workers(find_strategy("hogbatch"), {cpu, card}));
}

TEST(Catalogue, EveryStrategyOfDevicesComposesWithEveryOneOfNodesAndNoOther) {
  EXPECT_THAT(
      of_the_papers(names_of(true)),
      testing::ElementsAre("bsp", "asp", "ssp", "dssp", "dasp", "gossip", "adaptive-gossip"));
  EXPECT_THAT(of_the_papers(names_of(Sharing::peers)),
              testing::ElementsAre("gossip", "adaptive-gossip"));
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
                                            " is for nodes; the devices of one "
                                            "node train by one of sequential, hogwild, "));
    }
  }
  for (const auto& name : names_of(false)) EXPECT_NO_THROW(check_inside_node(find_strategy(name)));
}

}  // namespace
}  // namespace evener
