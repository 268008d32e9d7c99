#include "evener/run/options/recipe.h"

#include <utility>

#include <gtest/gtest.h>

namespace evener {
namespace {

/// `rows` rows with `each` labels out of `labels`, assigned in turn.
Dataset data_of(std::size_t rows, std::uint32_t labels, std::uint32_t each) {
  CsrArrays x, y;
  for (std::size_t r = 0; r < rows; ++r) {
    x.offsets.push_back(0);
    for (std::uint32_t i = 0; i < each; ++i) {
      y.indices.push_back(static_cast<std::uint32_t>((r * each + i) % labels));
    }
    y.offsets.push_back(y.indices.size());
  }
  return make_dataset(std::move(x), 1, std::move(y), labels);
}

/// For a run that trains on all rows of `data`.
TrainOptions recipe_for(const TrainOptions& options, const Dataset& data) {
  return with_recipe(options, data, data.rows());
}

TEST(Recipe, LossFollowsTheLabels) {
  const TrainOptions open;
  EXPECT_EQ(recipe_for(open, data_of(100, 10, 1)).loss, "softmax");  // classes
  EXPECT_EQ(recipe_for(open, data_of(100, 10, 2)).loss, "sigmoid");  // 20 rows per label
  EXPECT_EQ(recipe_for(open, data_of(100, 50, 2)).loss, "softmax");  // 4 rows per label
}

TEST(Recipe, GivenOptionsStay) {
  TrainOptions given;
  given.loss = "squared";
  given.learning_rate = 0.7;
  given.epochs = 3;
  const TrainOptions resolved = recipe_for(given, data_of(100, 10, 2));
  EXPECT_EQ(resolved.loss, "squared");
  EXPECT_EQ(resolved.learning_rate, 0.7);
  EXPECT_EQ(resolved.epochs, 3U);
}

TEST(Recipe, EpochsGiveAboutAsManyUpdates) {
  const TrainOptions open;
  EXPECT_EQ(recipe_for(open, data_of(256 * 50, 10, 1)).epochs, 16U);
  EXPECT_EQ(recipe_for(open, data_of(256, 10, 1)).epochs, 40U);
  EXPECT_EQ(recipe_for(open, data_of(256 * 400, 10, 1)).epochs, 9U);
}

TEST(Recipe, AResumedRunKeepsItsChoices) {
  const OptionTexts earlier{{"loss", "sigmoid"},
                            {"learning-rate", "0.25"},
                            {"epochs", "9"},
                            {"hidden", "64,32"},
                            {"dropout", "0"}};
  TrainOptions open;
  open.epochs = 12;
  const TrainOptions resolved = with_earlier_recipe(open, earlier);
  EXPECT_EQ(resolved.loss, "sigmoid");
  EXPECT_EQ(resolved.learning_rate, 0.25);
  EXPECT_EQ(resolved.epochs, 12U);
  EXPECT_EQ(resolved.hidden, (std::vector<std::uint32_t>{64, 32}));
  EXPECT_EQ(resolved.dropout, 0);
}

TEST(Recipe, ManyRowsGetANarrowerLayerAndLessDropout) {
  TrainOptions open;
  EXPECT_EQ(recipe_for(open, data_of(1000, 10, 1)).hidden, std::vector<std::uint32_t>{512});
  EXPECT_EQ(recipe_for(open, data_of(1000, 10, 1)).dropout, 0.5);
  EXPECT_EQ(recipe_for(open, data_of(30'000, 10, 1)).hidden, std::vector<std::uint32_t>{256});
  EXPECT_EQ(recipe_for(open, data_of(30'000, 10, 1)).dropout, 0.4);
  open.hidden = {};
  open.dropout = 0;
  EXPECT_TRUE(recipe_for(open, data_of(1000, 10, 1)).hidden.empty());
  EXPECT_EQ(recipe_for(open, data_of(1000, 10, 1)).dropout, 0);
}

}  // namespace
}  // namespace evener
