// docs/adding_a_strategy.md quotes the files of this folder: the quotes match, and the files work.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/places.h"
#include "tests/runtime/fakes.h"
#include "tests/runtime/small_setup.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/core/error.h"
#include "evener/policy/catalogue.h"

namespace evener {

Strategy one_shot_strategy();

namespace {

/// What CMake's list does for the files of evener/policy/strategies; a reader who tries the page
/// out may have put the file there.
const bool kRegistered = [] {
  const auto names = names_of(false);
  if (std::find(names.begin(), names.end(), "one-shot") == names.end()) {
    register_strategy(one_shot_strategy());
  }
  return true;
}();

std::string contents_of(const std::string& path) {
  std::ifstream file(EVENER_SOURCE_DIR "/" + path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(AddingAStrategy, ThePageQuotesFilesThatCompile) {
  const std::string page = contents_of("docs/adding_a_strategy.md");
  for (const char* name : {"one_shot.cc", "one_shot_test.cc"}) {
    const std::string text = contents_of(std::string("tests/example_strategy/") + name);
    EXPECT_NE(page.find("```cpp\n" + text + "```\n"), std::string::npos)
        << "the page must quote tests/example_strategy/" << name << " as it is";
  }
}

TEST(AddingAStrategy, FilesThatThePageNamesAreThere) {
  const std::string page = contents_of("docs/adding_a_strategy.md");
  for (std::size_t at = page.find("](../"); at != std::string::npos; at = page.find("](../", at)) {
    at += 5;
    const std::string path = page.substr(at, page.find(')', at) - at);
    EXPECT_TRUE(std::filesystem::exists(EVENER_SOURCE_DIR "/" + path)) << path;
  }
}

TEST(AddingAStrategy, OneFromOutsideIsInTheCatalogue) {
  ASSERT_TRUE(kRegistered);
  EXPECT_EQ(strategies().back().name, "one-shot") << "without an order it is the last";
  EXPECT_THAT(strategies_text(), testing::HasSubstr("\none-shot "));
  EXPECT_THAT(names_of(false), testing::Contains("one-shot"));
  EXPECT_THROW(register_strategy(one_shot_strategy()), Error) << "the name is taken";
}

/// The parameters after three epochs in virtual time, on devices of unequal speed.
std::vector<float> trained_by(const std::string& strategy, double& loss) {
  const Dataset data = small_data(320);
  EngineSetup setup = small_setup(data, strategy, 16);
  setup.virtual_time.emplace();
  for (const double per_row : {1e-3, 3e-3}) {
    DeviceModel model;
    model.name = "model";
    model.per_row = per_row;
    setup.virtual_time->devices.push_back(model);
  }
  Engine engine(std::move(setup));
  engine.models().give(0, start_of(small_network(data)));
  Position position;
  while (position.epoch < 3) {
    engine.run_epoch(position, go_on);
    loss = position.loss_sum;
    position = {position.step, position.epoch + 1, 0, 0};
  }
  EXPECT_EQ(engine.timeline().merges(), 3U) << "one an epoch";
  const FloatBuffer end = engine.models().take(0);
  return {end.data(), end.data() + end.size()};
}

TEST(AddingAStrategy, OneFromOutsideTrainsInVirtualTimeTwiceTheSame) {
  double first_loss = 0, second_loss = 0;
  const auto first = trained_by("one-shot", first_loss);
  EXPECT_EQ(first, trained_by("one-shot", second_loss));
  EXPECT_EQ(first_loss, second_loss);
  EXPECT_NE(first, trained_by("one-shot:weights=equal", second_loss));
  EXPECT_GT(first_loss, 0);
}

}  // namespace
}  // namespace evener
