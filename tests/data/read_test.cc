// Files: format detection, compression, sidecar files, and files that cannot be read.
#include "evener/data/read.h"

#include <string>

#include "tests/data/compress.h"
#include "tests/data/helpers.h"
#include "tests/data_folder.h"

#include "evener/data/cache.h"
#include "evener/data/parse.h"

namespace evener {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class ReadTest : public FolderTest {
 protected:
  std::string error_of(const std::string& file, const ReadOptions& options = {}) const {
    return data_error([&] { read_dataset(name(file), options); });
  }
};

TEST(FormatNames, GoBothWays) {
  for (const auto format :
       {Format::automatic, Format::multilabel, Format::libsvm, Format::idx, Format::npz}) {
    EXPECT_EQ(parse_format(to_string(format)), format);
  }
  EXPECT_EQ(to_string(Format::automatic), "auto");
  EXPECT_THROW(parse_format("csv"), UsageError);
}

TEST(DetectFormat, ByContent) {
  EXPECT_EQ(detect_format("PK\x03\x04..."), Format::npz);
  EXPECT_EQ(detect_format("\0\0\x08\x03\0\0\0\x01"s), Format::idx);
  EXPECT_EQ(detect_format("3 5 7\n1 2:1\n"), Format::multilabel);
  EXPECT_EQ(detect_format("3 5 7\r\n1 2:1\n"), Format::multilabel);
  EXPECT_EQ(detect_format("1 1:1\n-1 2:1\n"), Format::libsvm);
  EXPECT_EQ(detect_format("+1 1:1\n"), Format::libsvm);
  EXPECT_EQ(detect_format("1.0 1:1\n"), Format::libsvm);
  EXPECT_EQ(detect_format("# x\n1,2 0:1\n"), Format::libsvm);
  EXPECT_EQ(detect_format("1 1:1\n2 2:1 3:1\n"), Format::libsvm);
  EXPECT_EQ(detect_format("1 1:1\n2 0:1 3:1\n"), Format::multilabel);
  EXPECT_EQ(detect_format("1 10:1\n2 20:0.5\n"), Format::libsvm);
  EXPECT_EQ(detect_format("1,2 1:1\n3 2:1\n"), Format::multilabel);
  EXPECT_EQ(detect_format("1 1:1\n 2:1\n"), Format::multilabel);
  EXPECT_EQ(detect_format("1 1:1\n2:1 3:1\n"), Format::multilabel);
}

TEST_F(ReadTest, TextOfBothKinds) {
  const Dataset multilabel = read_dataset(make("a.txt", "2 9 3\n1,2 0:1\n 8:0.5\n"), {});
  EXPECT_EQ(labels_of(multilabel), (Labels{{1, 2}, {}}));
  const Dataset libsvm = read_dataset(make("b.txt", "-1 1:1\n+1 2:1\n"), {});
  EXPECT_EQ(labels_of(libsvm), (Labels{{0}, {1}}));
  ReadOptions options;
  options.format = Format::multilabel;
  EXPECT_EQ(features_of(read_dataset(make("c.txt", "1 1:1\n"), options)), (Rows{{{1, 1}}}));
  options.format = Format::libsvm;
  EXPECT_EQ(features_of(read_dataset(name("c.txt"), options)), (Rows{{{0, 1}}}));
}

std::string long_text(int rows) {
  std::string text = std::to_string(rows) + " 1000 100\n";
  for (int i = 0; i < rows; ++i) {
    text += std::to_string(i % 100);
    for (int j = 0; j < i % 40; ++j) {
      text +=
          " " + std::to_string(j * 20 + i % 20) + ":" + std::to_string(j) + "." + std::to_string(i);
    }
    text += '\n';
  }
  return text;
}

// More than a window, on one thread and on several, plain and compressed.
TEST_F(ReadTest, CompressedTextIsTheSameText) {
  const std::string text = long_text(20000);
  ASSERT_GT(text.size(), std::size_t{4} << 20);
  const Dataset plain = read_dataset(make("a.txt", text), {});
  EXPECT_EQ(plain.rows(), 20000U);
  const auto all_features = features_of(plain);
  const auto all_labels = labels_of(plain);
  make("a.txt.gz", deflated(text));
  make("a.txt.xz", xz_of(text));
  const std::size_t half = text.size() / 2;
  make("two.gz", deflated(text.substr(0, half)) + deflated(text.substr(half)) + "\0\0\0"s);
  make("two.xz", xz_of(text.substr(0, half)) + xz_of(text.substr(half)));
  for (const char* file : {"a.txt", "a.txt.gz", "a.txt.xz", "two.gz", "two.xz"}) {
    for (const int threads : {1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << file << " on " << threads << " threads");
      ReadOptions options;
      options.threads = threads;
      const Dataset data = read_dataset(name(file), options);
      EXPECT_TRUE(features_of(data) == all_features);
      EXPECT_TRUE(labels_of(data) == all_labels);
    }
  }
}

TEST_F(ReadTest, CutOrDamagedCompressionIsRefusedWithTheLine) {
  const std::string text = long_text(2000);
  for (const bool xz : {false, true}) {
    const std::string packed = xz ? xz_of(text) : deflated(text);
    const std::string kind = xz ? "xz" : "gzip";
    make("cut", packed.substr(0, packed.size() / 2));
    const std::string cut = error_of("cut");
    EXPECT_THAT(cut, HasSubstr("the " + kind + " data ends too early"));
    // About half of the rows had arrived.
    const auto line = std::stoul(cut.substr(name("cut").size() + 1));
    EXPECT_GT(line, 500U);
    EXPECT_LT(line, 1900U);
    ReadOptions threads;
    threads.threads = 3;
    EXPECT_EQ(error_of("cut", threads), cut);
    std::string damaged = packed;
    damaged[packed.size() / 2] ^= 0x10;
    make("damaged", damaged);
    EXPECT_THAT(error_of("damaged"), testing::AnyOf(HasSubstr("damaged"), HasSubstr("found"),
                                                    HasSubstr("value"), HasSubstr("header")));
    make("tail", packed + "garbage");
    EXPECT_THAT(error_of("tail"), HasSubstr(kind + " data"));
    make("head", packed.substr(0, 7));
    EXPECT_THAT(error_of("head"), HasSubstr("head:1: the " + kind + " data ends too early"));
  }
}

// An error in a line is reported before damage after it, whichever thread finds it first.
TEST_F(ReadTest, TheFirstOfTwoErrorsIsReported) {
  const std::string text = "1 0:1\n1 bad\n" + long_text(2000);
  const std::string packed = deflated(text);
  make("a", packed.substr(0, packed.size() - 100));
  for (const int threads : {1, 2, 4}) {
    ReadOptions options;
    options.threads = threads;
    EXPECT_THAT(error_of("a", options), StartsWith(name("a") + ":2: found 'bad'"));
  }
}

TEST_F(ReadTest, FilesThatCannotBeReadAreDataErrors) {
  try {
    read_dataset(name("none"), {});
    ADD_FAILURE();
  } catch (const UsageError& problem) {
    EXPECT_EQ(problem.what(), name("none") + ": there is no such file");
  }
  EXPECT_EQ(data_error([&] { read_dataset(folder_, {}); }),
            folder_.string() + ": cannot read: Is a directory");
  make("empty", "");
  EXPECT_EQ(error_of("empty"), name("empty") + ": the file is empty");
  make("empty.gz", deflated(""));
  EXPECT_EQ(error_of("empty.gz"), name("empty.gz") + ": the file has no rows");
  EXPECT_THAT(data_error([] { read_dataset("/dev/null", {}); }), HasSubstr("not a regular file"));
  make("junk", "\x7f\x45LF\x02\x01\x01 junk\n");
  EXPECT_THAT(error_of("junk"), StartsWith(name("junk") + ":1: "));
}

TEST_F(ReadTest, LabelNamesStandBesideTheData) {
  make("labels.txt", "zero\none\r\ntwo words");
  EXPECT_THAT(read_dataset(make("a", "1 5 3\n2 0:1\n"), {}).label_names,
              ElementsAre("zero", "one", "two words"));
  EXPECT_THAT(read_dataset(make("b", "1 5 4\n2 0:1\n"), {}).label_names, IsEmpty());
  make("labels.txt", "a\nb\nc\nd\n");
  EXPECT_THAT(read_dataset(name("b"), {}).label_names, ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(read_dataset(make("c", "-1 1:1\n1 1:1\n"), {}).label_names, ElementsAre("-1", "1"));
}

std::string idx(const std::vector<unsigned>& shape, const std::string& bytes) {
  std::string file = "\0\0\x08"s + static_cast<char>(shape.size());
  for (const unsigned size : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(size >> shift);
  }
  return file + bytes;
}

TEST_F(ReadTest, IdxImagesFindTheirLabels) {
  const std::string images = idx({2, 2, 3}, "\0\x01\0\xFF\0\x80\0\0\0\0\0\x33"s);
  const std::string labels = idx({2}, "\x07\x02");
  make("t-images-idx3-ubyte", images);
  make("t-labels-idx1-ubyte", labels);
  const Dataset data = read_dataset(name("t-images-idx3-ubyte"), {});
  EXPECT_EQ(features_of(data),
            (Rows{{{1, 1 / 255.0F}, {3, 1.0F}, {5, 128 / 255.0F}}, {{5, 0.2F}}}));
  EXPECT_EQ(labels_of(data), (Labels{{7}, {2}}));
  EXPECT_EQ(data.feature_count, 6U);
  EXPECT_EQ(data.label_count, 8U);
  make("u-images.idx3-ubyte.gz", deflated(images));
  make("u-labels.idx1-ubyte", labels);
  expect_same(read_dataset(name("u-images.idx3-ubyte.gz"), {}), data);
}

TEST_F(ReadTest, IdxWithoutLabelsIsGoodForPredictionOnly) {
  make("t-images-idx3-ubyte", idx({1, 1, 2}, "\x01\x02"));
  EXPECT_THAT(error_of("t-images-idx3-ubyte"), HasSubstr(name("t-labels-idx1-ubyte")));
  ReadOptions options;
  options.label_count = 10;
  options.feature_count = 2;
  EXPECT_EQ(labels_of(read_dataset(name("t-images-idx3-ubyte"), options)), (Labels{{}}));
  options.feature_count = 1;
  EXPECT_THAT(error_of("t-images-idx3-ubyte", options), HasSubstr("feature index 1 is too large"));
}

TEST_F(ReadTest, DamagedIdxIsRefused) {
  make("t-labels", idx({2}, "\x01\x02"));
  const auto with_images = [&](const std::string& images) {
    make("t-images", images);
    return error_of("t-images");
  };
  const std::string pixels(12, 'x');
  EXPECT_EQ(with_images(idx({2, 2, 3}, pixels)), "no error");
  EXPECT_THAT(with_images(idx({2, 2, 3}, pixels.substr(1))), HasSubstr("ends in item 2"));
  EXPECT_THAT(with_images(idx({2, 2, 3}, pixels + "x")), HasSubstr("longer than"));
  EXPECT_THAT(with_images(idx({1, 2, 3}, pixels.substr(6))), HasSubstr("not the labels"));
  EXPECT_THAT(with_images(idx({0, 2, 3}, "")), HasSubstr("no images"));
  EXPECT_THAT(with_images(idx({2, 0, 3}, "")), HasSubstr("no images"));
  EXPECT_THAT(with_images(idx({4000000000U, 2, 3}, pixels)), HasSubstr("ends in item 3"));
  EXPECT_THAT(with_images(idx({2, 60000, 60000}, pixels)), HasSubstr("ends in item 1"));
  EXPECT_THAT(with_images(idx({2, 4000000000U, 4000000000U}, pixels)), HasSubstr("impossible"));
  EXPECT_THAT(with_images(idx({2}, "\x01\x02")), HasSubstr("name the file with the images"));
  EXPECT_THAT(with_images("\0\0\x0D\x03"s + pixels), HasSubstr("0x0d are not supported"));
  EXPECT_THAT(with_images("\0\0\x08\x03\0\0"s), HasSubstr("within the IDX header"));
  const std::string packed = deflated(idx({2, 2, 3}, pixels));
  EXPECT_THAT(with_images(packed.substr(0, packed.size() - 9)), HasSubstr("ends too early"));
}

TEST_F(ReadTest, WrittenTextReadsBackTheSame) {
  const Dataset data = dataset_from(
      {{{0, 0.1F}, {7, -1e-30F}, {9, 3.4028235e38F}}, {}, {{3, 16777217.0F}}, {}, {{2, 1e20F}}},
      {{1, 4}, {}, {0}, {3}, {}}, 12, 6);
  write_multilabel(data, name("a"));
  EXPECT_EQ(contents(name("a")).substr(0, 7), "5 12 6\n");
  expect_same(read_dataset(name("a"), {}), data);
  EXPECT_THROW(write_multilabel(data, name("no/folder")), Error);
}

TEST_F(ReadTest, RealDataHasTheKnownSizes) {
  const std::string path = data_folder();
  if (!std::filesystem::exists(path + "bibtex/train.txt.xz")) {
    GTEST_SKIP() << "not run: there is no " << path << "bibtex; see docs/data.md for EVENER_DATA";
  }
  const Dataset bibtex = read_dataset(path + "bibtex/train.txt.xz", {});
  EXPECT_EQ(bibtex.rows(), 4880U);
  EXPECT_EQ(bibtex.feature_count, 1836U);
  EXPECT_EQ(bibtex.label_count, 159U);
  const Dataset a9a = read_dataset(path + "a9a/a9a.xz", {});
  EXPECT_EQ(a9a.rows(), 32561U);
  EXPECT_EQ(a9a.feature_count, 123U);
  EXPECT_THAT(a9a.label_names, ElementsAre("-1", "1"));
  ReadOptions options;
  options.feature_count = a9a.feature_count;
  options.label_names = a9a.label_names;
  EXPECT_EQ(read_dataset(path + "a9a/a9a.t.xz", options).rows(), 16281U);
}

}  // namespace
}  // namespace evener
