#include "evener/data/cache.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "tests/data/helpers.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evener/data/cache_file.h"
#include "evener/data/parse.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Dataset sample() {
  return dataset_from({{{0, 0.5F}, {4, 2}}, {}, {{1, -1}}}, {{1}, {0, 2}, {}}, 5, 3,
                      {"a", "", "long name"});
}

/// Changes a file as a program does that has mapped it: once a page was changed, more changes of it
/// leave all times of the file as they are.
class SharedMapping {
 public:
  explicit SharedMapping(const std::string& path) : size_(fs::file_size(path)) {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory_ == MAP_FAILED) throw Error("cannot map " + path);
  }
  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;
  ~SharedMapping() { munmap(memory_, size_); }
  void set(std::size_t at, char value) { static_cast<char*>(memory_)[at] = value; }

 private:
  std::size_t size_;
  void* memory_ = MAP_FAILED;
};

class CacheTest : public FolderTest {
 protected:
  // Modification times are set explicitly: the clock's resolution may be coarser than the test.
  std::string make_source(const std::string& text, int second = 0) const {
    make("source", text);
    fs::last_write_time(name("source"), fs::file_time_type() + std::chrono::seconds(second));
    return name("source");
  }
  Dataset open(const Transform* transform = nullptr) {
    return open_dataset(name("source"), read_, transform, {name("cache")}, &warning_);
  }
  static struct stat status_of(const fs::path& path) {
    struct stat status {};
    stat(path.c_str(), &status);
    return status;
  }
  static std::uint64_t inode(const fs::path& path) { return status_of(path).st_ino; }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& file : fs::directory_iterator(name("cache"), none)) files.push_back(file);
    return files;
  }
  // Memory with the alignment of a mapped file.
  static std::string error_of(const std::string& bytes) {
    auto copy = std::make_shared<std::vector<std::uint64_t>>(bytes.size() / 8 + 1);
    std::memcpy(copy->data(), bytes.data(), bytes.size());
    return data_error(
        [&] { parse_cache(std::as_bytes(std::span(*copy)).first(bytes.size()), "f", copy); });
  }
  void set_byte(const std::string& path, std::size_t at, char value) const {
    std::string bytes = contents(path);
    bytes.at(at) = value;
    fs::remove(path);
    std::ofstream(path, std::ios::binary) << bytes;
  }

  ReadOptions read_;
  std::string warning_;
};

TEST_F(CacheTest, WhatIsWrittenIsMapped) {
  write_cache(sample(), name("a"));
  EXPECT_TRUE(is_cache(name("a")));
  expect_same(open_cache(name("a")), sample());
  Dataset ones = sample();
  ones.features.values = {};
  write_cache(ones, name("b"));
  EXPECT_TRUE(open_cache(name("b")).features.values.empty());
  const Dataset mapped = open_cache(name("a"));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapped.features.values.data()) % 64, 0U);
}

TEST_F(CacheTest, OtherFilesAreNoCacheFiles) {
  EXPECT_FALSE(is_cache(make("a", "1 0:1\n")));
  EXPECT_FALSE(is_cache(name("none")));
  EXPECT_FALSE(is_cache(folder_));
  EXPECT_THAT(data_error([&] { open_cache(name("a")); }), HasSubstr("not a cache file"));
}

TEST_F(CacheTest, EveryDamagedByteIsFound) {
  write_cache(sample(), name("a"));
  const std::string good = contents(name("a"));
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    EXPECT_NE(error_of(bad), "no error") << "byte " << at;
  }
}

// The checksums are right in all of these.
TEST_F(CacheTest, IndicesAndValuesThatCannotBeAreRefused) {
  const auto error_of_rows = [&](const Rows& rows, const Labels& labels) {
    write_cache(dataset_from(rows, labels, 5, 3, {}), name("a"));
    return error_of(contents(name("a")));
  };
  EXPECT_EQ(error_of_rows({{{4, 1}}, {{0, 1}, {4, 1}}, {}, {{0, 1}}}, {{2}, {1}, {0, 2}, {}}),
            "no error");
  EXPECT_THAT(error_of_rows({{{5, 1}}}, {{0}}), HasSubstr("indices are damaged"));
  EXPECT_THAT(error_of_rows({{{3, 1}, {2, 1}}}, {{0}}), HasSubstr("indices are damaged"));
  EXPECT_THAT(error_of_rows({{{3, 1}, {3, 1}}}, {{0}}), HasSubstr("indices are damaged"));
  EXPECT_THAT(error_of_rows({{{0, 1}}, {{0, 1}}}, {{0}, {3}}), HasSubstr("indices are damaged"));
  EXPECT_THAT(error_of_rows({{{0, INFINITY}}}, {{0}}), HasSubstr("values are damaged"));
  EXPECT_THAT(error_of_rows({{{0, NAN}}}, {{0}}), HasSubstr("values are damaged"));
}

TEST_F(CacheTest, CutOrLengthenedFilesAreRefused) {
  write_cache(sample(), name("a"));
  const std::string good = contents(name("a"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(error_of(good.substr(0, size)), "no error") << size << " bytes";
  }
  EXPECT_NE(error_of(good + "x"), "no error");
}

TEST_F(CacheTest, ReadDatasetReadsAndVerifiesCacheFiles) {
  write_cache(sample(), name("a"));
  expect_same(read_dataset(name("a"), {}), sample());
  ReadOptions options;
  options.feature_count = 4;
  EXPECT_THAT(data_error([&] { read_dataset(name("a"), options); }),
              HasSubstr("row 0 (from 0): feature index 4 is too large"));
  options.feature_count = 9;
  options.label_names = {"long name", "a", "other", ""};
  const Dataset fitted = read_dataset(name("a"), options);
  EXPECT_EQ(labels_of(fitted), (Labels{{3}, {0, 1}, {}}));
  EXPECT_EQ(fitted.feature_count, 9U);
  EXPECT_EQ(fitted.label_names, options.label_names);
  Dataset twins = sample();
  twins.label_names = {"a", "b", "a"};
  write_cache(twins, name("twins"));
  options.label_names = {"b", "a"};
  EXPECT_EQ(labels_of(read_dataset(name("twins"), options)), (Labels{{0}, {1}, {}}));
  options.label_names = {"a", "long name"};
  EXPECT_THAT(data_error([&] { read_dataset(name("a"), options); }), HasSubstr("does not know"));
  set_byte(name("a"), 300, 'x');
  EXPECT_THAT(data_error([&] { read_dataset(name("a"), {}); }), HasSubstr("damaged"));
}

TEST_F(CacheTest, TheSecondOpeningMapsTheEntry) {
  make_source("2 5 3\n1 0:1\n2 4:2\n");
  const Dataset first = open();
  ASSERT_EQ(entries().size(), 1U);
  const auto entry = inode(entries()[0]);
  expect_same(open(), first);
  EXPECT_EQ(inode(entries()[0]), entry);  // it was not written again
  EXPECT_THAT(warning_, IsEmpty());
}

TEST_F(CacheTest, NewContentsOfTheSameSizeAndTimeAreNoticed) {
  make_source("1 5 3\n1 0:1\n");
  open();
  make_source("1 5 3\n2 0:1\n");
  EXPECT_EQ(labels_of(open()), (Labels{{2}}));
  EXPECT_THAT(warning_, IsEmpty());
  EXPECT_EQ(entries().size(), 1U);
}

TEST_F(CacheTest, ALargeSourceIsSampledAtItsStartMiddleAndEnd) {
  constexpr std::size_t kRows = 50'000;  // of 6 bytes
  std::string text = "50000 5 3\n";
  for (std::size_t i = 0; i < kRows; ++i) text += "1 0:1\n";
  const std::size_t head = text.size() - 6 * kRows;
  SharedMapping source(make_source(text));
  for (const std::uint32_t label : {1, 2}) {
    for (const std::size_t row : {std::size_t{0}, kRows / 2, kRows - 1}) {
      source.set(head + 6 * row, label == 1 ? '1' : '2');
      EXPECT_EQ(open().labels.row(row).indices[0], label) << row;
    }
  }
}

TEST_F(CacheTest, AChangedSourceIsReadAgain) {
  make_source("1 5 3\n1 0:1\n", 1);
  open();
  make_source("1 5 3\n2 0:1\n", 2);
  EXPECT_EQ(labels_of(open()), (Labels{{2}}));
  EXPECT_THAT(warning_, IsEmpty());
  make_source("1 5 3\n1,2 0:1\n", 2);
  EXPECT_EQ(labels_of(open()), (Labels{{1, 2}}));
  EXPECT_EQ(entries().size(), 1U);
  make("labels.txt", "a\nb\nc\n");
  EXPECT_EQ(open().label_names.size(), 3U);
}

TEST_F(CacheTest, AnEntryServesEveryWayToNameItsSource) {
  make_source("1 5 3\n1 0:1\n");
  open();
  const fs::path written = name("written");
  fs::create_hard_link(entries().at(0), written);
  const auto relative = fs::relative(name("source")).string();
  open_dataset(relative, read_, nullptr, {name("cache")}, &warning_);
  open_dataset(name("./source"), read_, nullptr, {name("cache")}, &warning_);
  ASSERT_EQ(entries().size(), 1U);
  EXPECT_TRUE(fs::equivalent(entries().at(0), written));  // not written again
}

TEST_F(CacheTest, OptionsAndTransformsHaveTheirOwnEntries) {
  make_source("1 5 3\n1 0:3 1:4\n");
  open();
  const Transform unit{{0, false, true}, {}};
  EXPECT_EQ(features_of(open(&unit)), (Rows{{{0, 0.6F}, {1, 0.8F}}}));
  EXPECT_EQ(features_of(open()), (Rows{{{0, 3}, {1, 4}}}));
  const Transform weights{{0, true, false}, {1, 2, 1, 1, 1}};
  const Transform others{{0, true, false}, {1, 3, 1, 1, 1}};
  EXPECT_NE(features_of(open(&weights)), features_of(open(&others)));
  read_.feature_count = 7;
  EXPECT_EQ(open().feature_count, 7U);
  EXPECT_EQ(entries().size(), 5U);
  read_.threads = 3;
  open();
  EXPECT_EQ(entries().size(), 5U);
}

TEST_F(CacheTest, DamagedEntriesAreRebuiltWithAWarning) {
  make_source("1 5 3\n1 0:1\n");
  const Dataset first = open();
  const std::string entry = entries().at(0);
  for (std::size_t at = 0; at < fs::file_size(entry); ++at) {
    if (at >= 8 && at < 12) continue;  // the version, see below
    set_byte(entry, at, static_cast<char>(contents(entry).at(at) ^ 0x10));
    expect_same(open(), first);
    EXPECT_THAT(warning_, AnyOf(HasSubstr("damaged"), HasSubstr("not a cache file"))) << at;
  }
  set_byte(entry, 20, 'x');
  expect_same(open(), first);
  EXPECT_THAT(warning_, HasSubstr("damaged"));
  expect_same(open(), first);
  EXPECT_THAT(warning_, IsEmpty());
  set_byte(entry, 8, 99);  // the version
  expect_same(open(), first);
  EXPECT_THAT(warning_, IsEmpty());
  fs::resize_file(entry, 10);
  expect_same(open(), first);
  EXPECT_THAT(warning_, HasSubstr("cut off"));
  expect_same(open_cache(entry), first);
}

TEST_F(CacheTest, WithoutAWritableDirectoryDataComesFromMemory) {
  make_source("1 5 3\n1 0:1\n");
  make("cache", "a file stands where the directory should be");
  EXPECT_EQ(labels_of(open()), (Labels{{1}}));
  EXPECT_THAT(warning_, HasSubstr("cache is not used"));
  EXPECT_EQ(labels_of(open_dataset(name("source"), {}, nullptr, {})), (Labels{{1}}));
}

TEST_F(CacheTest, ErrorsInTheSourceLeaveNoEntry) {
  make_source("1 5 3\n1 0:x\n");
  EXPECT_THAT(data_error([&] { open(); }), HasSubstr("source:2: "));
  EXPECT_THAT(entries(), IsEmpty());
}

TEST_F(CacheTest, CacheFilesAreOpenedAsTheyAre) {
  write_cache(sample(), name("source"));
  expect_same(open(), sample());
  EXPECT_THAT(entries(), IsEmpty());
  const Transform unit{{0, false, true}, {}};
  EXPECT_EQ(features_of(open(&unit))[2], (Rows{{{1, -1}}})[0]);
  EXPECT_EQ(entries().size(), 1U);
}

}  // namespace
}  // namespace evener
