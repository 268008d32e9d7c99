#include <algorithm>

#include "tests/data/make_support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "evener/core/error.h"
#include "evener/data/make/make.h"
#include "evener/data/read.h"

namespace evener {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

void write_gz(const std::string& path, const std::string& contents) {
  const gzFile out = gzopen(path.c_str(), "wb");
  gzwrite(out, contents.data(), static_cast<unsigned>(contents.size()));
  gzclose(out);
}

// `count` pictures; picture i has label i and one white pixel, number i.
void write_part(const TestFolder& folder, const std::string& part, char count) {
  std::string images{0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 28, 0, 0, 0, 28};
  std::string labels{0, 0, 8, 1, 0, 0, 0, count};
  for (char i = 0; i < count; ++i) {
    std::string picture(28 * 28, '\0');
    picture[static_cast<std::size_t>(i)] = '\xFF';
    images += picture;
    labels += i;
  }
  write_gz(folder.file(part + "-images-idx3-ubyte.gz"), images);
  write_gz(folder.file(part + "-labels-idx1-ubyte.gz"), labels);
}

TEST(FashionMnist, ReadsTheFilesOfTheDebianPackage) {
  const TestFolder folder;
  write_part(folder, "train", 3);
  write_part(folder, "t10k", 2);
  FashionMnistOptions options;
  options.directory = folder.file("");
  const MadeData made = make_fashion_mnist(options);
  EXPECT_EQ(made.train.feature_count, 784U);
  EXPECT_EQ(made.train.label_count, 10U);
  EXPECT_EQ(made.train.label_names[9], "Ankle boot");
  EXPECT_THAT(made.train.labels.indices, ElementsAre(0, 1, 2));
  EXPECT_THAT(made.train.features.indices, ElementsAre(0, 1, 2));
  EXPECT_THAT(made.train.features.values, Each(1.0F));
  EXPECT_EQ(made.features[29], "row01.column01");
  EXPECT_THAT(made.test_names, ElementsAre("t10k-0", "t10k-1"));
}

TEST(FashionMnist, NamesThePackageThatIsMissing) {
  const TestFolder folder;
  FashionMnistOptions options;
  options.directory = folder.file("");
  try {
    make_fashion_mnist(options);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("apt-get install dataset-fashion-mnist"));
  }
}

TEST(WriteMade, ReadsBackAsItWas) {
  const TestFolder folder;
  SyntheticOptions options;
  options.rows = 300;
  const MadeData made = make_synthetic(options);
  write_made(made, folder.file("set"), false);
  const Dataset read = read_dataset(folder.file("set/train.txt"), {});
  EXPECT_EQ(read.feature_count, options.features);
  EXPECT_EQ(read.label_count, options.labels);
  EXPECT_EQ(read.label_names, made.train.label_names);
  EXPECT_TRUE(std::ranges::equal(read.features.offsets, made.train.features.offsets));
  EXPECT_TRUE(std::ranges::equal(read.features.indices, made.train.features.indices));
  EXPECT_TRUE(std::ranges::equal(read.features.values, made.train.features.values));
  EXPECT_TRUE(std::ranges::equal(read.labels.indices, made.train.labels.indices));
}

}  // namespace
}  // namespace evener
