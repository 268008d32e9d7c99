// LIBSVM text: classes become labels.
#include <string>

#include "tests/data/helpers.h"

#include "evener/data/parse.h"

namespace evener {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Dataset libsvm_data(const std::string& text, const ReadOptions& options = {},
                    std::size_t window = 50) {
  return parse_libsvm(*windows_of(text, window), "f", options);
}

std::string error_of(const std::string& text, const ReadOptions& options = {}) {
  return data_error([&] { libsvm_data(text, options); });
}

TEST(Libsvm, IndicesBeginWithOneAndClassesAreSorted) {
  const Dataset data = libsvm_data("+1 1:0.5 3:2\n-1 2:1\n1 4:1\n");
  EXPECT_EQ(features_of(data), (Rows{{{0, 0.5F}, {2, 2}}, {{1, 1}}, {{3, 1}}}));
  EXPECT_EQ(labels_of(data), (Labels{{1}, {0}, {1}}));
  EXPECT_EQ(data.feature_count, 4U);
  EXPECT_EQ(data.label_count, 2U);
  EXPECT_THAT(data.label_names, ElementsAre("-1", "1"));
}

TEST(Libsvm, ClassesAreSortedAsNumbers) {
  const Dataset data = libsvm_data("10 1:1\n9 1:1\n-2.5 1:1\n1e3 1:1\n9.0 1:1\n-0 1:1\n0 1:1\n");
  EXPECT_THAT(data.label_names, ElementsAre("-2.5", "0", "9", "10", "1000"));
  EXPECT_EQ(labels_of(data), (Labels{{3}, {2}, {0}, {4}, {2}, {1}, {1}}));
}

TEST(Libsvm, ManyClasses) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i * 7919 % 200000) + " 1:1\n";
  const Dataset data = libsvm_data(text, {}, 1 << 20);
  EXPECT_EQ(data.label_count, 200000U);
  EXPECT_EQ(data.labels.row(1).indices[0], 7919U);
  EXPECT_EQ(data.label_names[7919], "7919");
}

TEST(Libsvm, ListsOfClassesAndRowsWithoutClass) {
  const Dataset data = libsvm_data("5,2,5 1:1\n 1:1\n1:2 2:1\n2 3:1\n");
  EXPECT_EQ(labels_of(data), (Labels{{0, 1}, {}, {}, {0}}));
  EXPECT_EQ(features_of(data), (Rows{{{0, 1}}, {{0, 1}}, {{0, 2}, {1, 1}}, {{2, 1}}}));
}

TEST(Libsvm, CommentsAndBlankLines) {
  const Dataset data = libsvm_data("# made by hand\n1 1:1 # first\n\n  # more\n \n2 2:1 #\r\n3\n");
  EXPECT_EQ(data.rows(), 3U);
  EXPECT_EQ(features_of(data), (Rows{{{0, 1}}, {{1, 1}}, {}}));
}

TEST(Libsvm, AByteOrderMarkIsSkipped) {
  EXPECT_EQ(features_of(libsvm_data("\xEF\xBB\xBF"
                                    "1 1:1\n")),
            (Rows{{{0, 1}}}));
}

TEST(Libsvm, KnownClassesKeepTheirOrder) {
  ReadOptions options;
  options.label_names = {"1", "-1", "other"};
  const Dataset data = libsvm_data("-1 1:1\n+1 1:1\n-1.0,1 1:1\n", options);
  EXPECT_EQ(labels_of(data), (Labels{{1}, {0}, {0, 1}}));
  EXPECT_EQ(data.label_count, 3U);
  EXPECT_EQ(data.label_names, options.label_names);
  EXPECT_EQ(error_of("1 1:1\n\n2 1:1\n", options), "f:3: the model does not know the class '2'");
}

TEST(Libsvm, TheModelsSizesLimit) {
  ReadOptions options;
  options.feature_count = 5;
  options.label_count = 2;
  EXPECT_EQ(libsvm_data("1 3:1\n", options).feature_count, 5U);
  EXPECT_EQ(libsvm_data("1 3:1\n", options).label_count, 2U);
  EXPECT_TRUE(libsvm_data("1 3:1\n", options).label_names.empty());
  EXPECT_THAT(error_of("1 6:1\n", options),
              StartsWith("f:1: feature index 6 is too large: the model"
                         " has only 5, numbered from 1"));
  EXPECT_EQ(error_of("1 1:1\n2 1:1\n3 1:1\n", options),
            "f: the file has 3 classes, the model only 2");
}

TEST(Libsvm, BadLinesAreRefusedNamingTheLine) {
  const std::pair<const char*, const char*> cases[] = {{"1 0:1", "begin with 1"},
                                                       {"1 -1:1", "found '-1:1'"},
                                                       {"nan 1:1", "found 'nan'"},
                                                       {"inf 1:1", "found 'inf'"},
                                                       {"1e999 1:1", "found '1e999'"},
                                                       {"1, 1:1", "where the class"},
                                                       {"x 1:1", "found 'x'"},
                                                       {"1 1:nan", "not finite"},
                                                       {"1 1:1 1:2", "stands twice"},
                                                       {"1 2:1 1:1 2:3", "index 2 stands twice"},
                                                       {"1 qid:3 1:1", "found 'qid:3'"},
                                                       {"1 4294967296:1", "too large"},
                                                       {"1 9223372036854775808:1", "too large"},
                                                       {"1 1", "found '1' where index:value"},
                                                       {"- 1:1", "found '-'"},
                                                       {"+-1 1:1", "found '+-1'"},
                                                       {"1 18446744073709551616:1", "too large"}};
  for (const auto& [line, message] : cases) {
    const std::string text = std::string("1 1:1\n# x\n") + line + "\n1 1:1\n";
    EXPECT_THAT(error_of(text), StartsWith("f:3: ")) << line;
    EXPECT_THAT(error_of(text), HasSubstr(message)) << line;
  }
  EXPECT_EQ(error_of("# nothing\n"), "f: the file has no rows");
}

TEST(Libsvm, ThreadsDoNotMatter) {
  std::string text;
  for (int i = 0; i < 500; ++i) {
    text += std::to_string(i * 31 % 17 - 8) + " " + std::to_string(i + 1) + ":0.25\n";
  }
  ReadOptions options;
  options.threads = 4;
  expect_same(libsvm_data(text), libsvm_data(text, options));
}

}  // namespace
}  // namespace evener
