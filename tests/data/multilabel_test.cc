// Multi-label text: valid input, and errors with their line.
#include <string>

#include "tests/data/helpers.h"
#include <fmt/format.h>
#include <rapidcheck/gtest.h>

#include "evener/data/parse.h"
#include "evener/data/read.h"

namespace evener {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Dataset multilabel_data(const std::string& text, const ReadOptions& options = {},
                        std::size_t window = 1000) {
  return parse_multilabel(*windows_of(text, window), "f", options);
}

std::string error_of(const std::string& text, const ReadOptions& options = {}) {
  return data_error([&] { multilabel_data(text, options); });
}

TEST(Multilabel, HeaderLabelsAndFeatures) {
  const Dataset data = multilabel_data("3 10 5\n1,4 0:0.5 9:-2\n 3:1\n0\n");
  EXPECT_EQ(data.feature_count, 10U);
  EXPECT_EQ(data.label_count, 5U);
  EXPECT_EQ(features_of(data), (Rows{{{0, 0.5F}, {9, -2.0F}}, {{3, 1.0F}}, {}}));
  EXPECT_EQ(labels_of(data), (Labels{{1, 4}, {}, {0}}));
}

TEST(Multilabel, WithoutHeaderCountsAreTheLargestIndices) {
  const Dataset data = multilabel_data("7 2:1 5:1\n3,2 0:1\n");
  EXPECT_EQ(data.feature_count, 6U);
  EXPECT_EQ(data.label_count, 8U);
  EXPECT_EQ(labels_of(data), (Labels{{7}, {2, 3}}));
}

TEST(Multilabel, RowsMayLackLabelsFeaturesOrBoth) {
  const Dataset data = multilabel_data("0:1 1:1\n \n2\n\t4:1\n3,4 \n");
  EXPECT_EQ(features_of(data), (Rows{{{0, 1}, {1, 1}}, {}, {}, {{4, 1}}, {}}));
  EXPECT_EQ(labels_of(data), (Labels{{}, {}, {2}, {}, {3, 4}}));
}

TEST(Multilabel, BlankLinesWindowsLineEndsAndTabsAreFine) {
  const Dataset data = multilabel_data("2 5 5\r\n1 0:1\t2:3  4:5 \r\n\r\n2 1:1\r\n\n\n");
  EXPECT_EQ(features_of(data), (Rows{{{0, 1}, {2, 3}, {4, 5}}, {{1, 1}}}));
}

TEST(Multilabel, TheLastLineNeedsNoEnd) {
  expect_same(multilabel_data("1 0:1\n2 1:2.5"), multilabel_data("1 0:1\n2 1:2.5\n"));
  expect_same(multilabel_data("1 2:1.5"), multilabel_data("1 2:1.5\n"));
}

TEST(Multilabel, UnsortedIndicesAreSortedWithTheirValues) {
  EXPECT_EQ(features_of(multilabel_data("0 5:50 1:10 3:30\n")),
            (Rows{{{1, 10}, {3, 30}, {5, 50}}}));
}

TEST(Multilabel, ALabelNamedTwiceCountsOnce) {
  EXPECT_EQ(labels_of(multilabel_data("3,1,3 0:1\n")), (Labels{{1, 3}}));
}

TEST(Multilabel, ValuesInEveryNotation) {
  EXPECT_EQ(features_of(
                multilabel_data("0 0:1e-3 1:+2 2:.5 3:1234567890.123456789 4:-0 5:1E2 6:1e-999\n")),
            (Rows{{{0, 1e-3F},
                   {1, 2},
                   {2, 0.5F},
                   {3, 1234567890.123456789F},
                   {4, -0.0F},
                   {5, 100},
                   {6, 0}}}));
}

TEST(Multilabel, TheModelsSizesReplaceTheHeaders) {
  ReadOptions options;
  options.feature_count = 20;
  options.label_count = 3;
  const Dataset data = multilabel_data("1 10 5\n2 9:1\n", options);
  EXPECT_EQ(data.feature_count, 20U);
  EXPECT_EQ(data.label_count, 3U);
  EXPECT_THAT(error_of("1 10 5\n2 0:1\n3 0:1\n", options),
              StartsWith("f:3: label 3 is too large: the model has only 3"));
  EXPECT_THAT(error_of("1 30 5\n2 20:1\n", options),
              StartsWith("f:2: feature index 20 is too large: the model has only 20"));
}

struct BadLine {
  const char* text;
  const char* message;
};

const BadLine kBadLines[] = {

    {"1 0:nan", "'nan' is not finite"},
    {"1 0:inf", "not finite"},
    {"1 0:-Infinity", "not finite"},
    {"1 0:1e999", "not finite"},
    {"1 0:4e38", "not finite"},
    {"1 -1:1", "found '-1:1'"},
    {"1 9223372036854775808:1", "index 9223372036854775808 is too large"},
    {"1 18446744073709551617:1", "too large"},
    {"1 4294967295:1", "too large"},
    {"9223372036854775808 0:1", "label 9223372036854775808 is too large"},
    {"1 0 2:1", "found '0' where index:value"},
    {"1 0:1 7", "found '7'"},
    {"1 0:", "the value '' is not a number"},
    {"1 0:x", "'x' is not a number"},
    {"1 0:1x", "'1x' is not a number"},
    {"1 0:1:2", "'1:2' is not a number"},
    {"1 0:1,2:1", "not a number"},
    {"1 0:0x10", "not a number"},
    {"1 0:--1", "not a number"},
    {"1 0:1.2.3", "not a number"},
    {"1 :1", "found ':1'"},
    {"1 x:1", "found 'x:1'"},
    {"1 1.5:1", "found '1.5:1'"},
    {"1, 0:1", "where labels"},
    {",1 0:1", "where labels"},
    {"1,,2 0:1", "where labels"},
    {"-1 0:1", "found '-1'"},
    {"1.5 0:1", "found '1.5'"},
    {"abc 0:1", "found 'abc'"},
    {"1,2:1", "found '2:1'"},
    {"1 3:1 3:2", "index 3 stands twice"},
    {"1 3:1 2:1 3:2", "index 3 stands twice"},
    {"1 0:1\r 2:1", "not a number"},
    {"\x89PNG\x1a", "found '\\x89PNG\\x1a'"},
    {"1 0:1 \x01", "\\x01"},
    {"# comment", "found '#'"}};

// The same in the middle of good lines, with any number of threads.
TEST(Multilabel, BadLinesAreRefusedNamingTheLine) {
  for (const auto& [bad, message] : kBadLines) {
    SCOPED_TRACE(bad);
    EXPECT_THAT(error_of(bad), StartsWith("f:1: "));
    const std::string text = std::string("1 0:1\n\n2,3 1:1\n") + bad + "\n1 0:1\n1 nonsense\n";
    for (const int threads : {1, 3}) {
      ReadOptions options;
      options.threads = threads;
      EXPECT_THAT(error_of(text, options), StartsWith("f:4: "));
      EXPECT_THAT(error_of(text, options), HasSubstr(message));
    }
  }
}

TEST(Multilabel, NulBytesAreRefused) {
  using namespace std::string_literals;
  EXPECT_THAT(error_of("1 0:1\n\0\0\0\0\n"s), StartsWith("f:2: found '\\x00"));
  EXPECT_THAT(error_of("1 0:1\n1 2:1\0\n"s), StartsWith("f:2: the value '1\\x00' is not"));
}

TEST(Multilabel, LongTokensAreCutInMessages) {
  EXPECT_LT(error_of("1 " + std::string(100000, 'x') + "\n").size(), 200U);
}

TEST(Multilabel, HeadersAreChecked) {
  EXPECT_EQ(error_of("3 5 5\n1 0:1\n2 0:1\n"), "f:1: the header promises 3 rows, but 2 follow");
  EXPECT_EQ(error_of("1 5 5\n1 0:1\n2 0:1\n"), "f:1: the header promises 1 row, but 2 follow");
  EXPECT_THAT(error_of("2 5 5\n1 4:1\n1 5:1\n"),
              StartsWith("f:3: feature index 5 is too large: the header has only 5"));
  EXPECT_THAT(error_of("2 5 5\n1 4:1\n5 0:1\n"), StartsWith("f:3: label 5 is too large"));
  EXPECT_THAT(error_of("1 0 5\n1 0:1\n"), StartsWith("f:2: feature index 0 is too large"));
}

// Memory is allocated for the rows that exist, not for the sizes in the header.
TEST(Multilabel, LyingHeadersCostNoMemory) {
  EXPECT_THAT(error_of("99999999999999999 5 5\n1 0:1\n"), StartsWith("f:1: the header promises"));
  EXPECT_THAT(error_of("1 9999999999 5\n1 0:1\n"),
              StartsWith("f:1: the header's number of features is too large: at most 4294967295"));
  EXPECT_THAT(error_of("1 5 18446744073709551617\n1 0:1\n"),
              StartsWith("f:1: the header's number of labels is too large"));
  EXPECT_EQ(multilabel_data("1 4294967295 5\n1 0:1\n").feature_count, 4294967295U);
}

TEST(Multilabel, FilesWithoutRowsAreRefused) {
  EXPECT_EQ(error_of(""), "f: the file has no rows");
  EXPECT_EQ(error_of("\n\n"), "f: the file has no rows");
  EXPECT_EQ(error_of("0 5 5\n"), "f: the file has no rows");
  EXPECT_EQ(error_of("3 5 5"), "f:1: the header promises 3 rows, but 0 follow");
}

TEST(Multilabel, TheFirstErrorIsReportedWhateverTheThreads) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += i % 100 == 57 ? "1 0:bad\n" : "1 0:1\n";
  for (const int threads : {1, 2, 3, 7}) {
    ReadOptions options;
    options.threads = threads;
    EXPECT_THAT(error_of(text, options), StartsWith("f:58: "));
  }
}

Rows arbitrary_rows() {
  return *rc::gen::container<Rows>(rc::gen::map(
      rc::gen::uniqueBy<std::vector<std::pair<std::uint32_t, float>>>(
          rc::gen::pair(rc::gen::inRange<std::uint32_t>(0, 1000000),
                        rc::gen::map(rc::gen::inRange(-100000, 100000),
                                     [](int i) { return static_cast<float>(i) / 1000; })),
          [](const auto& entry) { return entry.first; }),
      [](auto row) {
        std::sort(row.begin(), row.end());
        return row;
      }));
}

RC_GTEST_PROP(MultilabelProperty, WindowsAndThreadsDoNotMatter, ()) {
  const Rows rows = arbitrary_rows();
  RC_PRE(!rows.empty());
  std::string text;
  for (const auto& row : rows) {
    text += fmt::format("{}", row.size() % 5);
    for (const auto& [index, value] : row) text += fmt::format(" {}:{}", index, value);
    text += '\n';
  }
  const Dataset whole = multilabel_data(text, {}, 1 << 20);
  RC_ASSERT(features_of(whole) == rows);
  ReadOptions options;
  options.threads = *rc::gen::inRange(1, 5);
  const Dataset cut = multilabel_data(text, options, *rc::gen::inRange<std::size_t>(1, 200));
  RC_ASSERT(features_of(cut) == rows);
  RC_ASSERT(labels_of(cut) == labels_of(whole));
  RC_ASSERT(cut.feature_count == whole.feature_count);
}

}  // namespace
}  // namespace evener
