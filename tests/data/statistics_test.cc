#include "evener/data/statistics.h"

#include <algorithm>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace evener {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Rows of 3, 1, 0 and 8 features and of 1, 2, 1 and 0 labels; feature 9 and label 1 are unused.
Dataset example() {
  return make_dataset({{0, 3, 4, 4, 12},
                       {0, 1, 2, 0, 0, 2, 3, 4, 5, 6, 7, 8},
                       {1, 2, 3, -0.5F, 1, 1, 1, 1, 1, 1, 9, 1}},
                      10, {{0, 1, 3, 4, 4}, {0, 0, 2, 0}, {}}, 3);
}

TEST(Statistics, CountsRowsAndColumns) {
  const Statistics s = statistics_of(example());
  EXPECT_EQ(s.rows, 4U);
  EXPECT_EQ(s.feature_count, 10U);
  EXPECT_EQ(s.features_used, 9U);
  EXPECT_EQ(s.label_count, 3U);
  EXPECT_EQ(s.labels_used, 2U);
  EXPECT_EQ(s.nonzeros, 12U);
  EXPECT_EQ(s.label_entries, 4U);
  EXPECT_EQ(s.rows_without_feature, 1U);
  EXPECT_EQ(s.rows_without_label, 1U);
  EXPECT_EQ(s.min_value, -0.5F);
  EXPECT_EQ(s.max_value, 9.0F);
  EXPECT_EQ(s.memory_bytes, 2 * 5 * 8 + 12 * 8 + 4 * 4U);
}

TEST(Statistics, SpreadsHaveLogarithmicBins) {
  const Spread s = statistics_of(example()).features_per_row;
  EXPECT_EQ(s.min, 0U);
  EXPECT_EQ(s.max, 8U);
  EXPECT_EQ(s.median, 2);  // between 1 and 3
  EXPECT_EQ(s.mean, 3);
  EXPECT_THAT(s.bins, ElementsAre(1, 1, 1, 0, 1));  // 0 | 1 | 2-3 | 4-7 | 8-15
}

TEST(Statistics, TellsHeadAndTailOfLabels) {
  // 200 labels; label 0 has 6 rows, label 1 five, the others one.
  CsrArrays features, labels;
  const auto add_row = [&](std::uint32_t label) {
    labels.indices.push_back(label);
    labels.offsets.push_back(labels.indices.size());
    features.offsets.push_back(0);
  };
  for (int i = 0; i < 6; ++i) add_row(0);
  for (int i = 0; i < 5; ++i) add_row(1);
  for (std::uint32_t label = 2; label < 200; ++label) add_row(label);
  const Statistics s = statistics_of(make_dataset(std::move(features), 1, std::move(labels), 200));
  EXPECT_DOUBLE_EQ(s.rare_label_share, 199.0 / 200);
  EXPECT_DOUBLE_EQ(s.head_label_share, 11.0 / 209);  // the top 1 % are two labels
  EXPECT_EQ(s.rows_per_label.median, 1);
  EXPECT_EQ(s.rows_without_feature, 209U);
}

TEST(Statistics, DescribesNothing) {
  const Statistics s = statistics_of(make_dataset({}, 0, {}, 0));
  EXPECT_EQ(s.rows, 0U);
  EXPECT_THAT(describe(s, false, 80), HasSubstr("rows       0\n"));
}

TEST(Statistics, ValuesAreOneWhereNoneAreStored) {
  const Statistics s = statistics_of(make_dataset({{0, 1}, {0}, {}}, 1, {{0, 0}, {}, {}}, 1));
  EXPECT_EQ(s.min_value, 1);
  EXPECT_EQ(s.max_value, 1);
}

TEST(Statistics, MedianIsThatOfTheSortedRows) {
  // check alone only prints the result.
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& sizes) {
    RC_PRE(!sizes.empty());
    CsrArrays features, labels;
    for (const std::uint8_t size : sizes) {
      for (std::uint32_t i = 0; i < size; ++i) features.indices.push_back(i);
      features.offsets.push_back(features.indices.size());
      labels.offsets.push_back(0);
    }
    const Spread s = statistics_of(make_dataset(std::move(features), 256, std::move(labels), 1))
                         .features_per_row;
    std::vector<std::uint8_t> sorted = sizes;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t n = sorted.size();
    RC_ASSERT(s.median == (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0);
    RC_ASSERT(s.min == sorted.front());
    RC_ASSERT(s.max == sorted.back());
  }));
}

TEST(Describe, DrawsBars) {
  Statistics s;
  s.features_per_row = {1, 7, 2, 3, {0, 32, 16, 1}};
  EXPECT_THAT(describe(s, true, 80), HasSubstr("features per row: 1 to 7, median 2, mean 3\n"
                                               "  #####\n"
                                               "  #####\n"
                                               "  ##### #####\n"
                                               "  ##### ##### .....\n"
                                               "  1     2     4\n"));
  EXPECT_THAT(describe(s, false, 80),
              HasSubstr("  \u2588\u2588\u2588\u2588\u2588 \u2588\u2588\u2588\u2588\u2588 "
                        "\u2581\u2581\u2581\u2581\u2581\n"));
}

TEST(Describe, ShowsWhatIsMissingOnlyIfItIs) {
  Statistics s = statistics_of(example());
  EXPECT_THAT(describe(s, true, 80), HasSubstr("no label   1 row\n"));
  EXPECT_THAT(describe(s, true, 80), HasSubstr("features   10 (9 used)\n"));
  s.rows_without_label = 0;
  EXPECT_THAT(describe(s, true, 80), Not(HasSubstr("no label")));
}

TEST(Describe, IsNeverWiderThanAllowed) {
  Statistics s;
  s.rows = 1'234'567'890;
  s.rows_per_label = {1, 4'000'000'000, 123456.5, 1234567.8, {}};
  for (std::uint64_t i = 0; i < 33; ++i) s.rows_per_label.bins.push_back(i * i);
  s.labels_per_row = s.features_per_row = s.rows_per_label;
  for (const int width : {0, 40, 41, 60, 80, 200}) {
    const std::string text = describe(s, true, width);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), static_cast<std::size_t>(std::max(width, 40))) << line;
    }
    EXPECT_THAT(text, HasSubstr("4,000,000,000"));
  }
}

TEST(Describe, AsciiIsAscii) {
  for (const char c : describe(statistics_of(example()), true, 80)) {
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << int{c};
  }
}

TEST(Figures, NameEverything) {
  const std::vector<Figure> list = figures(statistics_of(example()));
  const std::map<std::string, std::variant<std::uint64_t, double>> by_name(list.begin(),
                                                                           list.end());
  EXPECT_EQ(by_name.size(), list.size());
  EXPECT_EQ(std::get<std::uint64_t>(by_name.at("features_used")), 9U);
  EXPECT_EQ(std::get<double>(by_name.at("features_per_row.median")), 2);
  EXPECT_EQ(std::get<std::uint64_t>(by_name.at("labels_per_row.max")), 2U);
  EXPECT_EQ(std::get<double>(by_name.at("min_value")), -0.5);
}

}  // namespace
}  // namespace evener
