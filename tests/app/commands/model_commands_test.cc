// test, predict, info, convert, dataset, devices, options.
#include <filesystem>

#include "tests/app/command.h"

namespace evener {
namespace {

class ModelCommands : public CommandTest {
 protected:
  json trained(const std::vector<std::string>& more = {}) {
    auto arguments = training("run", more);
    arguments.push_back("--json");
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out);
  }
};

TEST_F(ModelCommands, TestRepeatsWhatTrainingMeasured) {
  const json result = trained();
  const Outcome last =
      run({"test", folder_ / "run/last.safetensors", folder_ / "test.txt", "--json"});
  ASSERT_EQ(last.code, 0) << last.err;
  EXPECT_EQ(json::parse(last.out), result.at("metrics"));
  // A run stands for its best model.
  const json best = json::parse(run({"test", folder_ / "run", folder_ / "test.txt", "--json"}).out);
  EXPECT_EQ(best.at("p@1"), result.at("best").at("value"));
  EXPECT_THAT(run({"test", folder_ / "run", folder_.path()}).out,
              AllOf(HasSubstr("@1"), HasSubstr("nDCG"), HasSubstr("PSP"), HasSubstr("loss")));
}

TEST_F(ModelCommands, TextIsReadInTheFormatOfTheTrainingData) {
  trained();
  put_contents(folder_ / "few.txt", "1 1:1 2:1\n0 3:1\n");  // could be LIBSVM
  for (const char* command : {"predict", "test"}) {
    const Outcome by_model = run({command, folder_ / "run", folder_ / "few.txt"});
    EXPECT_EQ(by_model.code, 0) << by_model.err;
    EXPECT_EQ(by_model.out,
              run({command, folder_ / "run", folder_ / "few.txt", "--format", "multilabel"}).out);
    EXPECT_NE(run({command, folder_ / "run", folder_ / "few.txt", "--format", "libsvm"}).out,
              by_model.out);
  }
  const Outcome beside = run({"train", folder_ / "train.txt", "--test", folder_ / "few.txt",
                              "--epochs", "1", "-o", folder_ / "other"});
  EXPECT_EQ(beside.code, 0) << beside.err;
}

TEST_F(ModelCommands, PredictPrintsLabelsBestFirst) {
  trained({"--epochs", "20"});
  const Outcome outcome = run({"predict", folder_ / "run", folder_ / "test.txt", "-k", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 40U);
  const auto truth = lines_of(contents_of(folder_ / "test.txt"));
  int right = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    const std::string first = lines[i].substr(0, lines[i].find(':'));
    const std::string labels = "," + truth[i + 1].substr(0, truth[i + 1].find(' ')) + ",";
    right += labels.find("," + first + ",") != std::string::npos ? 1 : 0;
    EXPECT_EQ(std::count(lines[i].begin(), lines[i].end(), '\t'), 1) << lines[i];
  }
  EXPECT_GE(right, 36);
}

TEST_F(ModelCommands, NamesBesideTheDataAreUsed) {
  put_contents(folder_ / "labels.txt", "zero\none\ntwo\nthree\nfour\nfive\n");
  std::string names;
  for (int i = 0; i < 40; ++i) names += "row " + std::to_string(i) + "\n";
  put_contents(folder_ / "test.names.txt", names);
  trained();
  const auto lines = lines_of(run({"predict", folder_ / "run", folder_ / "test.txt"}).out);
  ASSERT_EQ(lines.size(), 40U);
  EXPECT_THAT(lines[7], testing::ContainsRegex("^row 7\t(zero|one|two|three|four|five):0?[.0-9]"));
  const json row = json::parse(
      lines_of(run({"predict", folder_ / "run", folder_ / "test.txt", "--json", "-k", "1"}).out)
          .at(3));
  EXPECT_EQ(row.at("name"), "row 3");
  EXPECT_EQ(row.at("row"), 3);
  EXPECT_EQ(row.at("labels").size(), 1U);
  EXPECT_TRUE(row.at("labels")[0].at("name").is_string());
}

// A label's name must not clear the screen of the terminal that shows it.
TEST_F(ModelCommands, ControlCharactersInNamesAreSpeltOut) {
  put_contents(folder_ / "labels.txt",
               "\x1b[2Ja\n\x1b[2Jb\n\x1b[2Jc\n\x1b[2Jd\n\x1b[2Je\n\x1b[2Jf\n");
  trained();
  const std::string shown = run({"predict", folder_ / "run", folder_ / "test.txt"}).out;
  EXPECT_THAT(shown, AllOf(HasSubstr("\\x1b[2J"), Not(HasSubstr("\x1b"))));
}

// C1 controls are commands for some terminals, and JSON does not require that they are escaped.
TEST_F(ModelCommands, JsonHasNoControlCharacters) {
  std::string names;
  for (const char* label : {"a", "b", "c", "d", "e", "f"}) {
    names += std::string("\xC2\x9B") + "2J" + label + "\xC3\xA9\n";
  }
  put_contents(folder_ / "labels.txt", names);
  trained();
  const std::string shown = run({"predict", folder_ / "run", folder_ / "test.txt", "--json"}).out;
  EXPECT_THAT(shown, AllOf(HasSubstr("\\u009b2J"), Not(HasSubstr("\xC2\x9B"))));
  const json row = json::parse(lines_of(shown).at(0));
  EXPECT_THAT(row.at("labels")[0].at("name").get<std::string>(),
              AllOf(StartsWith("\xC2\x9B"), testing::EndsWith("\xC3\xA9")));
}

TEST_F(ModelCommands, DataBeyondTheModelIsRefused) {
  trained();
  put_contents(folder_ / "wide.txt", "1 21 6\n0 20:1\n");
  const Outcome outcome = run({"test", folder_ / "run", folder_ / "wide.txt"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("wide.txt"));
}

TEST_F(ModelCommands, InfoDescribesDataModelsAndRuns) {
  trained();
  EXPECT_EQ(json::parse(run({"info", folder_ / "train.txt", "--json"}).out).at("rows"), 100);
  EXPECT_THAT(run({"info", folder_ / "train.txt"}).out, HasSubstr("features"));
  const json model = json::parse(run({"info", folder_ / "run/best.safetensors", "--json"}).out);
  EXPECT_EQ(model.at("hidden"), json::array({8}));
  EXPECT_EQ(model.at("parameters"), 20 * 8 + 8 + 8 * 6 + 6);
  const json run_info = json::parse(run({"info", folder_ / "run", "--json"}).out);
  EXPECT_EQ(run_info.at("epoch").at("epoch"), 5);
  EXPECT_EQ(run_info.at("end").at("ended"), "epochs");
  EXPECT_THAT(run({"info", folder_ / "run"}).out,
              AllOf(HasSubstr("last evaluation"), HasSubstr("ended")));
}

TEST_F(ModelCommands, InfoShowsTheDevicesAndStrategyOfARun) {
  trained({"--devices", "cpu:1,cpu:1", "--emulate", "1=x0.5", "--strategy", "elastic:period=5"});
  const json info = json::parse(run({"info", folder_ / "run", "--json"}).out);
  EXPECT_EQ(info.at("devices"), (json{"cpu:1", "cpu:1 (emulated x0.5)"}));
  EXPECT_EQ(info.at("emulate"), "1=x0.5");
  EXPECT_EQ(info.at("strategy"), "elastic:period=5");
  EXPECT_EQ(info.at("virtual_time"), false);
  const std::string text = run({"info", folder_ / "run"}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("\ndevices             cpu:1 + cpu:1 (emulated x0.5)\n"),
                          HasSubstr("\nslowed down         1=x0.5\n"),
                          HasSubstr("\nstrategy            elastic:period=5\n"),
                          HasSubstr("\ntime                real\n")));
  EXPECT_THAT(text, Not(testing::ContainsRegex("[.]0*[1-9][0-9]{4}"))) << "too many digits";
}

TEST_F(ModelCommands, InfoMarksASimulation) {
  ASSERT_EQ(run({"simulate", EVENER_SOURCE_DIR "/docs/examples/cluster.toml", folder_.path(),
                 "--epochs", "1", "-o", folder_ / "run", "--strategy", "sync"})
                .code,
            0);
  EXPECT_THAT(run({"info", folder_ / "run"}).out,
              AllOf(HasSubstr("\ndevices             fast card + older card + host\n"),
                    HasSubstr("\ntime                virtual, of simulated devices\n"),
                    Not(HasSubstr("slowed down"))));
  EXPECT_EQ(json::parse(run({"info", folder_ / "run", "--json"}).out).at("virtual_time"), true);
}

TEST_F(ModelCommands, InfoOfAFolderShowsBothSets) {
  const Outcome outcome = run({"info", folder_.path()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("train.txt\n\nrows       100\n"),
                    HasSubstr("\n\n" + (folder_ / "test.txt") + "\n\nrows       40\n")));
  const json both = json::parse(run({"info", folder_.path(), "--json"}).out);
  EXPECT_EQ(both.at("train").at("rows"), 100);
  EXPECT_EQ(both.at("test").at("rows"), 40);
  std::filesystem::remove(folder_ / "test.txt");
  EXPECT_THAT(run({"info", folder_.path()}).out, Not(HasSubstr("test.txt")));
  std::filesystem::create_directory(folder_ / "empty");
  expect_error({"info", folder_ / "empty"}, 2, "nor a folder of data (no train.* or test.*)");
}

TEST_F(ModelCommands, ConvertGoesToTheCacheFormatAndBack) {
  ASSERT_EQ(run({"convert", folder_ / "train.txt", folder_ / "a.evd"}).code, 0);
  ASSERT_EQ(run({"convert", folder_ / "a.evd", folder_ / "b.txt"}).code, 0);
  ASSERT_EQ(run({"convert", folder_ / "train.txt", folder_ / "c.txt"}).code, 0);
  EXPECT_EQ(contents_of(folder_ / "b.txt"), contents_of(folder_ / "c.txt"));
  EXPECT_EQ(json::parse(run({"info", folder_ / "a.evd", "--json"}).out),
            json::parse(run({"info", folder_ / "train.txt", "--json"}).out));
}

TEST_F(ModelCommands, ConvertRefusesAFormatForACache) {
  ASSERT_EQ(run({"convert", folder_ / "train.txt", folder_ / "a.evd"}).code, 0);
  expect_error({"convert", folder_ / "a.evd", folder_ / "b.txt", "--format", "libsvm"}, 2,
               "--format has no effect on " + (folder_ / "a.evd") + ": it is a cache");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b.txt"));
  EXPECT_EQ(run({"convert", folder_ / "a.evd", folder_ / "b.txt", "--format", "auto"}).code, 0);
}

TEST_F(ModelCommands, DatasetMakesAFolderToTrainOn) {
  const std::string data = folder_ / "synthetic";
  const Outcome made = run(
      {"dataset", "synthetic", "-o", data, "--rows", "200", "--features", "50", "--labels", "10"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("200 training rows"));
  EXPECT_EQ(run({"train", data, "-o", folder_ / "run", "--epochs", "1"}).code, 0);
}

TEST_F(ModelCommands, DatasetRefusesOptionsThatADataSetIgnores) {
  struct Scope {
    const char* option;
    std::vector<std::string> data_sets;
    bool in_shape = false;
  };
  const std::vector<std::string> debian{"debian-tags", "debian-depends"}, synthetic{"synthetic"},
      split{"debian-tags", "debian-depends", "synthetic"};
  const std::vector<Scope> scopes{{"--test-share", split, true},
                                  {"--seed", split},
                                  {"--index", debian},
                                  {"--min-feature-packages", debian},
                                  {"--min-label-packages", debian},
                                  {"--shape", synthetic},
                                  {"--rows", synthetic, true},
                                  {"--features", synthetic, true},
                                  {"--labels", synthetic, true},
                                  {"--features-per-row", synthetic, true},
                                  {"--labels-per-row", synthetic, true},
                                  {"--feature-exponent", synthetic},
                                  {"--label-exponent", synthetic, true},
                                  {"--noise", synthetic}};
  for (const auto& line : lines_of(run({"dataset", "--help"}).out)) {
    if (!line.starts_with("  --") || line.starts_with("  --force ")) continue;
    EXPECT_TRUE(std::any_of(scopes.begin(), scopes.end(),
                            [&](const auto& scope) {
                              return line.starts_with(std::string("  ") + scope.option + " ");
                            }))
        << "not in this table: " << line;
  }
  // Later checks find this path, so that nothing is made.
  const std::string taken = folder_ / "train.txt";
  for (const auto& [option, data_sets, in_shape] : scopes) {
    SCOPED_TRACE(option);
    for (const char* name : {"debian-tags", "debian-depends", "fashion-mnist", "synthetic"}) {
      const bool has = std::count(data_sets.begin(), data_sets.end(), name) > 0;
      expect_error(
          {"dataset", name, option, "1", "-o", taken}, 2,
          has ? "exists and is not a directory"
              : std::string(option) + " has no effect on " + name + ": it is an option of");
    }
    if (data_sets.back() != "synthetic" || std::string(option) == "--shape") continue;
    expect_error({"dataset", "synthetic", "--shape", "eurlex-4k", option, "1", "-o", taken}, 2,
                 in_shape ? std::string(option) + " has no effect with --shape, which sets it"
                          : "exists and is not a directory");
  }
}

TEST_F(ModelCommands, DevicesAreMeasured) {
  const Outcome outcome = run({"devices", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json devices = json::parse(outcome.out);
  EXPECT_EQ(devices.at(0).at("name"), "cpu");
  EXPECT_GT(devices.at(0).at("gflops").get<double>(), 0.01);
  EXPECT_THAT(run({"devices"}).out, AllOf(StartsWith("cpu "), Not(HasSubstr("AVX3"))));
  EXPECT_THAT(run({"devices", "--help"}).out, HasSubstr("opencl:P.D.S"));
  for (const auto& device : devices) {
    if (device.contains("parts")) {
      EXPECT_EQ(device.at("parts").size(), device.at("compute_units"));
      EXPECT_EQ(device.at("parts")[0], device.at("name").get<std::string>() + ".0");
    }
    if (device.at("name") == "opencl") {
      EXPECT_THAT(device.at("why_not").get<std::string>(),
                  testing::AnyOf(HasSubstr("pocl-opencl-icd"), HasSubstr("EVENER_OPENCL")));
    }
  }
}

TEST_F(ModelCommands, OneDeviceIsEnough) {
  trained();
  for (const char* command : {"test", "predict"}) {
    const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
      std::vector<std::string> all{command, folder_ / "run", folder_ / "test.txt"};
      all.insert(all.end(), more.begin(), more.end());
      expect_error(all, 2, part);
    };
    refused({"--devices", "cpu:1,cpu:1"}, "--devices 'cpu:1,cpu:1': this command works on one");
    refused({"--memory-limit", "512"}, "only accelerators can be limited");
    EXPECT_THAT(run({command, "--help"}).out,
                AllOf(HasSubstr("opencl:P.D.S"), HasSubstr("cuda:N"), HasSubstr("--memory-limit")));
  }
  expect_error({"profile", "cpu:1,cpu:1", folder_.path()}, 2, "this command works on one device");
  expect_error({"profile", "auto", folder_.path()}, 2, "a profile is of one device");
  expect_error({"profile", "cpu:1", folder_.path(), "--devices", "cpu:1"}, 2, "--devices: ");
  expect_error({"profile", "cpu:1", folder_.path(), "--quiet"}, 2,
               "--quiet: a profile shows no progress");
  EXPECT_THAT(run({"profile", "--help"}).out,
              AllOf(HasSubstr("opencl:P.D.S"), HasSubstr("cuda:N")));
}

TEST_F(ModelCommands, OptionsPrintsTheTable) {
  EXPECT_EQ(run({"options", "--markdown"}).out, contents_of(EVENER_SOURCE_DIR "/docs/options.md"))
      << "run: scripts/update_docs";
  EXPECT_EQ(json::parse(run({"options", "--json"}).out).at(0).at("name"), "data");
  expect_error({"options", "--json", "--markdown"}, 2, "--json and --markdown: choose one");
}

}  // namespace
}  // namespace evener
