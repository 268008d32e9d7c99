#include "evener/run/options/options.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "tests/places.h"
#include "tests/run/support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/core/error.h"
#include "evener/policy/catalogue.h"
#include "evener/run/options/cluster_options.h"
#include "evener/run/options/config.h"
#include "evener/run/session/train.h"

namespace evener {
namespace {

using testing::HasSubstr;

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const UsageError& problem) {
    return problem.what();
  }
  return "(no UsageError)";
}

std::string set_message(const std::string& name, const std::string& text) {
  return message_of([&] {
    TrainOptions options;
    find_train_option(name).set(options, text);
  });
}

TEST(Options, EveryRowSaysWhatItIs) {
  std::set<std::string> names;
  for (const auto& info : train_option_table()) {
    SCOPED_TRACE(info.name);
    EXPECT_TRUE(names.insert(info.name).second) << "twice in the table";
    EXPECT_FALSE(info.help.empty());
    EXPECT_FALSE(info.help.starts_with("of ")) << info.help;
    EXPECT_FALSE(info.modes.empty()) << "has an effect nowhere";
    EXPECT_FALSE(info.group.empty());
    EXPECT_EQ(info.name.find('_'), std::string::npos);
  }
  EXPECT_GT(names.size(), 40U);
}

TEST(Options, EveryDefaultIsValidAndSurvivesText) {
  const TrainOptions defaults;
  for (const auto& info : train_option_table()) {
    SCOPED_TRACE(info.name);
    TrainOptions options;
    const std::string text = info.get(defaults);
    ASSERT_NO_THROW(info.set(options, text));
    EXPECT_EQ(info.get(options), text);
  }
}

TEST(Options, EveryRowSetsItsOwnMember) {
  const TrainOptions defaults;
  for (const auto& info : train_option_table()) {
    SCOPED_TRACE(info.name);
    const std::string text = info.kind == OptionKind::flag
                                 ? (info.get(defaults) == "true" ? "false" : "true")
                             : info.kind == OptionKind::choice ? info.choices.back()
                             : info.kind == OptionKind::real   ? "0.625"
                             : info.kind == OptionKind::list   ? "7,5"
                             : info.name == "ablate"           ? "offset"
                                                               : "3";
    TrainOptions options;
    info.set(options, text);
    for (const auto& other : train_option_table()) {
      EXPECT_EQ(other.get(options), other.name == info.name ? text : other.get(defaults))
          << other.name;
    }
  }
}

TEST(Options, BadValuesAreRefusedWithTheRange) {
  EXPECT_THAT(set_message("patience", "0"),
              HasSubstr("--patience: '0' is not valid; a whole number"));
  EXPECT_THAT(set_message("epochs", "3.5"), HasSubstr("whole number"));
  EXPECT_THAT(set_message("epochs", "-1"), HasSubstr("0 or more"));
  EXPECT_THAT(set_message("epochs", "99999999999"), HasSubstr("the largest number is 4294967295"));
  EXPECT_THAT(set_message("epochs", std::string(400, '9')), HasSubstr("the largest number is"));
  EXPECT_THAT(set_message("hidden", "64,4294967296"),
              HasSubstr("the largest number is 4294967295"));
  EXPECT_THAT(set_message("learning-rate", "1e999"), HasSubstr("the largest number is 1.79"));
  EXPECT_THAT(set_message("evict", "1e7"), HasSubstr("above 0, at most 1000000"));
  EXPECT_THAT(set_message("servers", "257"), HasSubstr("the largest number is 256"));
  EXPECT_THAT(set_message("dropout", "1"), HasSubstr("below 1"));
  EXPECT_THAT(set_message("learning-rate", "nan"), HasSubstr("at least 0"));
  EXPECT_THAT(set_message("learning-rate", "inf"), HasSubstr("at least 0"));
  EXPECT_THAT(set_message("learning-rate", "0.1x"), HasSubstr("at least 0"));
  EXPECT_THAT(set_message("hidden", "128,,64"), HasSubstr("separated by commas"));
  EXPECT_THAT(set_message("hidden", "0"), HasSubstr("positive"));
  EXPECT_THAT(set_message("tfidf", "yes"), HasSubstr("valid: true, false"));
}

TEST(Options, UnknownChoiceAndNameGiveTheNearest) {
  EXPECT_THAT(set_message("optimizer", "adma"), HasSubstr("did you mean 'adam'?"));
  EXPECT_THAT(set_message("early-stop", "P@1"), HasSubstr("valid: none, loss, p@1"));
  EXPECT_THAT(set_message("lerning_rate", "1"), HasSubstr("did you mean 'learning-rate'?"));
  EXPECT_NO_THROW(find_train_option("learning_rate"));
}

TEST(Options, ContradictionsAreRefused) {
  TrainOptions options;
  options.test = "t";
  options.validation_share = 0.1;
  EXPECT_THAT(message_of([&] { check_options(options); }), HasSubstr("--validation-share"));
  options = {};
  options.early_stop = "p@1";
  EXPECT_THAT(message_of([&] { check_options(options); }), HasSubstr("--early-stop"));
  options = {};
  options.average = options.epochs + 1;
  EXPECT_THAT(message_of([&] { check_options(options); }), HasSubstr("--average"));
}

class Config : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    const std::string path = folder_.path() + "/c.toml";
    std::ofstream(path) << text;
    return path;
  }
  Folder folder_;
};

TEST_F(Config, WhatIsWrittenIsReadBack) {
  TrainOptions options;
  options.data = "a \"quoted\" \\ path\twith\nall";
  options.hidden = {64, 32};
  options.learning_rate = 0.1 + 0.2;
  options.tfidf = true;
  options.seed = 1ULL << 62;
  TrainOptions read;
  apply_option_texts(read_config(write(config_text(options))), read);
  EXPECT_EQ(option_texts(read), option_texts(options));
  options.hidden = {};
  apply_option_texts(read_config(write(config_text(options))), read);
  EXPECT_TRUE(read.hidden.empty());
}

TEST_F(Config, ErrorsNameFileAndLine) {
  const auto message = [&](const std::string& text) {
    return message_of([&] { read_config(write(text)); });
  };
  EXPECT_THAT(message("epochs = 3\n\nlerning-rate = 1\n"),
              HasSubstr("c.toml:3: unknown option 'lerning-rate' (did you mean 'learning-rate'?)"));
  EXPECT_THAT(message("epochs = 3\ndropout = 2\n"), HasSubstr("c.toml:2: --dropout: '2'"));
  EXPECT_THAT(message("epochs = 3\nseed = = 1\n"), HasSubstr("c.toml:2: "));
  EXPECT_THAT(message("epochs = 3\nepochs = 4\n"), HasSubstr("c.toml:2: "));
  EXPECT_THAT(message("[epochs]\nx = 1\n"), HasSubstr("c.toml:1: a value is needed"));
  EXPECT_THAT(message_of([&] { read_config(folder_.path() + "/none.toml"); }),
              HasSubstr("no such config file"));
}

TEST_F(Config, CommandLineOverridesFileOverridesDefault) {
  const std::string path = write("data = \"d\"\nepochs = 4\nlearning_rate = 0.5\n");
  const TrainOptions options = resolve_options({{"epochs", "7"}}, path);
  EXPECT_EQ(options.epochs, 7U);
  EXPECT_EQ(options.learning_rate, 0.5);
  EXPECT_EQ(options.global_batch_size, TrainOptions{}.global_batch_size);
}

TEST_F(Config, ResumedOptionsComeBeforeTheOthers) {
  TrainOptions before;
  before.data = "d";
  before.epochs = 4;
  before.seed = 9;
  std::ofstream(folder_.path() + "/config.toml") << config_text(before);
  const TrainOptions options = resolve_options({{"resume", folder_.path()}, {"epochs", "8"}}, "");
  EXPECT_EQ(options.seed, 9U);
  EXPECT_EQ(options.epochs, 8U);
  EXPECT_THAT(message_of([&] {
                resolve_options({{"resume", folder_.path()}, {"output", "x"}}, "");
              }),
              HasSubstr("leave -o out"));
  EXPECT_THAT(message_of([&] {
                resolve_options({{"resume", folder_.path() + "/x"}}, "");
              }),
              HasSubstr("is not a run directory"));
}

TEST(StrategyOptions, SayWhatEachStrategyMakesOfThem) {
  const OptionInfo& pull = find_train_option("pull");
  EXPECT_THAT(pull.help, testing::StartsWith("elastic: "));
  EXPECT_THAT(pull.help, HasSubstr("auto: 0.9 / devices. sma: "));
  EXPECT_THAT(pull.help, HasSubstr("auto: 1 / devices"));
  EXPECT_EQ(pull.default_text, "auto");
  const OptionInfo& scaling = find_train_option("rate-scaling");
  EXPECT_EQ(scaling.default_text, "anchored");
  EXPECT_EQ(scaling.range,
            "anchored, off (hogbatch, adaptive-hogbatch); anchored, linear, off (adaptive-sgd)");
  EXPECT_EQ(find_train_option("cpu-batch").default_text,
            "1 (hogwild); auto (hogbatch, adaptive-hogbatch)");
  // Options that are not given keep the strategy's default.
  EXPECT_EQ(pull.get(TrainOptions{}), "");
}

TEST(OptionsDocs, AreCurrent) {
  std::ifstream file(EVENER_SOURCE_DIR "/docs/options.md");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(text, options_markdown()) << "run: scripts/update_docs";
}

TEST(Options, AStrategyCannotHaveAnOptionOfTheCommands) {
  const auto refusal = [](const std::string& option) {
    Strategy row = find_strategy("sync");
    row.name = "ours";
    row.automatic.clear();
    row.options.push_back(number_option(option, "1", 0, 2, "help"));
    return error_of([&] { register_strategy(row); });
  };
  EXPECT_EQ(refusal("learning-rate"),
            "strategy 'ours': option 'learning-rate': the commands have an option --learning-rate "
            "already; choose another name");
  for (const char* name : {"config", "help", "no-cache", "seeds", "coordinator", "data"}) {
    EXPECT_THAT(refusal(name), testing::HasSubstr(std::string("an option --") + name)) << name;
  }
  EXPECT_THROW(find_strategy("ours"), UsageError);
}

TEST(ClusterOptions, ASuggestedCommandHasTheOptionsOfItsConnections) {
  ClusterOptions cluster;
  EXPECT_EQ(connection_text(cluster), "");
  cluster.listen = "0.0.0.0:7070";
  cluster.tls = "certs";
  cluster.token = "secret";
  cluster.wait_seconds = 300;
  EXPECT_EQ(connection_text(cluster),
            " --listen 0.0.0.0:7070 --tls certs --token ... --wait-seconds 300");
}

}  // namespace
}  // namespace evener
