#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/core/error.h"
#include "evener/data/make/named_rows.h"

namespace evener {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

// A row with names instead of indices: `feature` -> value, and the labels.
struct Row {
  std::map<std::string, float> features;
  std::set<std::string> labels;
};

std::map<std::string, Row> by_name(const MadeData& made) {
  std::map<std::string, Row> rows;
  const auto add = [&](const Dataset& part, const std::vector<std::string>& names) {
    ASSERT_EQ(part.rows(), names.size());
    ASSERT_EQ(part.labels.rows(), names.size());
    ASSERT_EQ(part.feature_count, made.features.size());
    ASSERT_EQ(part.label_count, part.label_names.size());
    for (std::size_t r = 0; r < names.size(); ++r) {
      Row& row = rows[names[r]];
      const RowView features = part.features.row(r);
      for (std::size_t i = 0; i < features.indices.size(); ++i) {
        row.features[made.features[features.indices[i]]] = features.values[i];
      }
      for (const auto label : part.labels.row(r).indices)
        row.labels.insert(part.label_names[label]);
    }
  };
  add(made.train, made.train_names);
  add(made.test, made.test_names);
  return rows;
}

TEST(NamedRows, AreNumberedInTheOrderOfNames) {
  NumberingOptions options;
  options.test_share = 0;
  const MadeData made = number_rows({{"r", {"b", "a", "b", "c", "b"}, {"y", "x", "y"}}}, options);
  EXPECT_THAT(made.features, ElementsAre("a", "b", "c"));
  EXPECT_THAT(made.train.label_names, ElementsAre("x", "y"));
  EXPECT_THAT(made.train.features.indices, ElementsAre(0, 1, 2));
  EXPECT_THAT(made.train.features.values, ElementsAre(1, 3, 1));
  EXPECT_THAT(made.train.labels.indices, ElementsAre(0, 1));
  EXPECT_THAT(made.train.labels.values, IsEmpty());
  EXPECT_EQ(made.test.rows(), 0U);
}

TEST(NamedRows, DropWhatIsRareUbiquitousOrEmpty) {
  NumberingOptions options;
  options.test_share = 0;
  options.min_feature_rows = 2;
  options.min_label_rows = 2;
  options.max_feature_share = 0.75;
  const MadeData made = number_rows(
      {
          {"1", {"all", "two", "once", "once"}, {"x"}},
          {"2", {"all", "two"}, {"x", "single"}},
          {"3", {"all", "three"}, {"x"}},
          {"4", {"all", "three", "three"}, {"x"}},
          {"no label left", {"two", "three", "once"}, {"rare"}},
          {"no label", {"two"}, {}},
          {"no feature", {}, {"x"}},
          {"only dropped features", {"all", "other"}, {"x"}},
      },
      options);
  const auto rows = by_name(made);
  // `once` occurs in only one row with a label; its other row is dropped before features are
  // counted.
  EXPECT_THAT(made.features, ElementsAre("three", "two"));
  EXPECT_THAT(made.train.label_names, ElementsAre("x"));
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows.at("4").features, (std::map<std::string, float>{{"three", 2}}));
  EXPECT_EQ(rows.at("2").labels, (std::set<std::string>{"x"}));
}

std::vector<NamedRow> hundred_rows() {
  std::vector<NamedRow> rows;
  for (int i = 0; i < 100; ++i) {
    const std::string name = std::to_string(i);
    rows.push_back({"row" + name, {"f" + name, "common"}, {"l" + name}});
  }
  return rows;
}

TEST(NamedRows, AreSplitIntoTrainingAndTest) {
  NumberingOptions options;
  options.test_share = 0.25;
  const MadeData made = number_rows(hundred_rows(), options);
  EXPECT_EQ(made.train.rows(), 75U);
  EXPECT_EQ(made.test.rows(), 25U);
  const auto rows = by_name(made);
  ASSERT_EQ(rows.size(), 100U);  // each on one side
  for (int i = 0; i < 100; ++i) {
    const std::string name = std::to_string(i);
    const Row& row = rows.at("row" + name);
    EXPECT_EQ(row.features, (std::map<std::string, float>{{"common", 1}, {"f" + name, 1}}));
    EXPECT_EQ(row.labels, (std::set<std::string>{"l" + name}));
  }
}

TEST(NamedRows, AreSplitByTheSeed) {
  NumberingOptions options;
  const MadeData first = number_rows(hundred_rows(), options);
  const MadeData again = number_rows(hundred_rows(), options);
  EXPECT_EQ(first.train_names, again.train_names);
  options.seed = 1;
  const MadeData other = number_rows(hundred_rows(), options);
  EXPECT_NE(std::set(first.test_names.begin(), first.test_names.end()),
            std::set(other.test_names.begin(), other.test_names.end()));
}

TEST(NamedRows, NeedATestShareBelowOne) {
  for (const double share : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    NumberingOptions options;
    options.test_share = share;
    EXPECT_THROW(number_rows(hundred_rows(), options), UsageError) << share;
  }
}

}  // namespace
}  // namespace evener
