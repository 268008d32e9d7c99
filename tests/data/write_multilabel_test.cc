#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "tests/data/make_support.h"
#include <gtest/gtest.h>

#include "evener/core/error.h"
#include "evener/core/random.h"
#include "evener/data/read.h"

namespace evener {
namespace {

TEST(WriteMultilabel, WritesHeaderLabelsAndPairs) {
  const TestFolder folder;
  CsrArrays features{{0, 2, 3, 3, 3}, {0, 4, 2}, {1, 0.5F, -3}};
  CsrArrays labels{{0, 1, 1, 3, 3}, {2, 0, 1}, {}};
  const Dataset data = make_dataset(std::move(features), 5, std::move(labels), 3);
  write_multilabel(data, folder.file("a.txt"));
  EXPECT_EQ(contents_of(folder.file("a.txt")),
            "4 5 3\n"
            "2 0:1 4:0.5\n"
            " 2:-3\n"
            "0,1\n"
            " \n");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(WriteMultilabel, WritesOnesWhereThereAreNoValues) {
  const TestFolder folder;
  const Dataset data = make_dataset({{0, 2}, {1, 3}, {}}, 4, {{0, 1}, {0}, {}}, 1);
  write_multilabel(data, folder.file("a.txt"));
  EXPECT_EQ(contents_of(folder.file("a.txt")), "1 4 1\n0 1:1 3:1\n");
}

TEST(WriteMultilabel, SaysWhereItCannotWrite) {
  const Dataset data = make_dataset({{0, 0}, {}, {}}, 1, {{0, 0}, {}, {}}, 1);
  EXPECT_THROW(write_multilabel(data, "/nonexistent-folder/a.txt"), Error);
}

// Long enough that the buffer is flushed many times in the middle of a row.
TEST(WriteMultilabel, LosesNothingBetweenBuffers) {
  const TestFolder folder;
  constexpr std::uint32_t kColumns = 150'000;
  CsrArrays features;
  std::string expected = "2 150000 1\n";
  for (int row = 0; row < 2; ++row) {
    expected += row == 0 ? "0" : "";
    for (std::uint32_t i = 0; i < kColumns; ++i) {
      features.indices.push_back(i);
      features.values.push_back(static_cast<float>(i % 1000) + 0.25F);
      expected += " " + std::to_string(i) + ":" + std::to_string(i % 1000) + ".25";
    }
    features.offsets.push_back(features.indices.size());
    expected += "\n";
  }
  write_multilabel(make_dataset(std::move(features), kColumns, {{0, 1, 1}, {0}, {}}, 1),
                   folder.file("a.txt"));
  EXPECT_TRUE(contents_of(folder.file("a.txt")) == expected);
}

TEST(WriteMultilabel, ValuesReadBackToTheSameBits) {
  std::vector<float> values = {std::numeric_limits<float>::denorm_min(), 0.1F, 0.0F, -0.0F,
                               std::numeric_limits<float>::max()};
  for (const float large : {1.0F, 255.0F, 16'777'215.0F, 16'777'216.0F, 33'554'432.0F, 1e9F}) {
    values.insert(values.end(), {large, -large, std::nextafter(large, 0.0F)});
  }
  Random random(5);
  while (values.size() < 50'000) {
    const auto value = std::bit_cast<float>(random.next());
    if (std::isfinite(value)) values.push_back(value);
  }
  CsrArrays features;
  for (std::uint32_t i = 0; i < values.size(); ++i) features.indices.push_back(i);
  features.offsets.push_back(values.size());
  features.values = values;
  const TestFolder folder;
  write_multilabel(make_dataset(std::move(features), static_cast<std::uint32_t>(values.size()),
                                {{0, 0}, {}, {}}, 1),
                   folder.file("a.txt"));
  std::istringstream lines(contents_of(folder.file("a.txt")));
  std::string token;
  std::getline(lines, token);
  for (const float value : values) {
    ASSERT_TRUE(bool(lines >> token));
    float read = 0;
    const char* begin = token.data() + token.find(':') + 1;
    std::from_chars(begin, token.data() + token.size(), read);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(read), std::bit_cast<std::uint32_t>(value)) << token;
  }
}

}  // namespace
}  // namespace evener
