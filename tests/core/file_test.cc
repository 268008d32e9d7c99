#include "evener/core/file.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "evener/core/error.h"

namespace evener {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  FileTest() {
    std::string pattern = fs::temp_directory_path() / "evener_file_test.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~FileTest() override { fs::remove_all(folder_); }

  std::string name(const std::string& file) const { return folder_ / file; }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder_;
};

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST_F(FileTest, WhatIsWrittenIsMapped) {
  AtomicFile file(name("a"));
  file.write("hello ", 6);
  file.write("world", 5);
  file.write_at(0, "J", 1);
  file.write("!", 1);
  file.commit();
  EXPECT_EQ(text_of(MappedFile(name("a"))), "Jello world!");
  EXPECT_EQ(files(), 1U);
}

TEST_F(FileTest, AWholeFileIsReadUpToItsLimit) {
  write_atomically(name("a"), std::as_bytes(std::span("\xEF\xBB\xBFtext", 7)));
  EXPECT_EQ(read_whole_file(name("a")), "text");
  EXPECT_EQ(read_whole_file(name("a"), 7), "text");
  try {
    read_whole_file(name("a"), 6);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), name("a") + ": is longer than 6 bytes");
  }
}

TEST_F(FileTest, WithoutCommitTheOldFileStays) {
  write_atomically(name("a"), std::as_bytes(std::span("old", 3)));
  {
    AtomicFile file(name("a"));
    file.write("new", 3);
  }
  EXPECT_EQ(contents(name("a")), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(FileTest, ReplacingLeavesAMappingIntact) {
  write_atomically(name("a"), std::as_bytes(std::span("old", 3)));
  const MappedFile mapped(name("a"));
  write_atomically(name("a"), std::as_bytes(std::span("x", 1)));
  EXPECT_EQ(text_of(mapped), "old");
}

TEST_F(FileTest, NewFilesHaveOrdinaryPermissions) {
  std::ofstream(name("plain")) << "x";
  write_atomically(name("a"), {});
  EXPECT_EQ(fs::status(name("a")).permissions(), fs::status(name("plain")).permissions());
}

TEST_F(FileTest, PrivateFilesAreNeverReadableByOthers) {
  AtomicFile file(name("key"), Readers::owner);
  for (const auto& entry : fs::directory_iterator(folder_)) {  // the temporary file
    EXPECT_EQ(fs::status(entry).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  }
  file.commit();
  EXPECT_EQ(fs::status(name("key")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(FileTest, OnlyRegularFilesAreReplaced) {
  ASSERT_EQ(mkfifo(name("pipe").c_str(), 0600), 0);
  for (const auto& path : {name("pipe"), std::string("/dev/null")}) {
    EXPECT_THAT([&] { AtomicFile file(path); },
                testing::ThrowsMessage<Error>(path + ": is not a regular file"));
    EXPECT_FALSE(fs::is_regular_file(path));
  }
  // It becomes one while the file is written.
  AtomicFile file(name("late"));
  ASSERT_EQ(mkfifo(name("late").c_str(), 0600), 0);
  EXPECT_THROW(file.commit(), Error);
  EXPECT_TRUE(fs::is_fifo(name("late")));
}

TEST_F(FileTest, ALinkStaysAndTheFileThatItNamesIsReplaced) {
  fs::create_directory(folder_ / "other");
  write_atomically(name("other/file"), std::as_bytes(std::span("old", 3)));
  fs::create_symlink("other/file", name("link"));
  write_atomically(name("link"), std::as_bytes(std::span("new", 3)));
  EXPECT_TRUE(fs::is_symlink(name("link")));
  EXPECT_EQ(contents(name("other/file")), "new");
  fs::create_symlink("other/none", name("dangling"));
  write_atomically(name("dangling"), std::as_bytes(std::span("made", 4)));
  EXPECT_EQ(contents(name("other/none")), "made");
}

TEST_F(FileTest, EmptyFilesMap) {
  std::ofstream(name("a")).flush();
  EXPECT_TRUE(MappedFile(name("a")).bytes().empty());
}

TEST_F(FileTest, MovedMappingsAreUnmappedOnce) {
  write_atomically(name("a"), std::as_bytes(std::span("old", 3)));
  MappedFile first(name("a"));
  MappedFile second(std::move(first));
  MappedFile third(name("a"));
  third = std::move(second);
  EXPECT_EQ(text_of(third), "old");
}

template <class F>
std::string message_of(F&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(FileTest, ErrorsNameTheFileAndTheReason) {
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  EXPECT_THAT(message_of([&] { MappedFile file(name("none")); }),
              AllOf(HasSubstr(name("none")), HasSubstr("No such file")));
  EXPECT_THAT(message_of([&] { MappedFile file(folder_); }), HasSubstr("Is a directory"));
  EXPECT_THAT(message_of([&] { MappedFile file("/dev/null"); }), HasSubstr("not a regular file"));
  EXPECT_THAT(message_of([&] { AtomicFile file(name("no/such/folder")); }),
              AllOf(HasSubstr(name("no/such/folder")), HasSubstr("No such file")));
}

TEST_F(FileTest, OnlyWhatIsNotThereIsMissing) {
  EXPECT_TRUE(is_missing(name("none")));
  EXPECT_TRUE(is_missing(name("none/deeper")));
  EXPECT_FALSE(is_missing(folder_));
  EXPECT_FALSE(is_missing("/dev/null"));
}

TEST_F(FileTest, CommitOntoADirectoryFailsAndLeavesNothing) {
  fs::create_directory(name("d"));
  EXPECT_THROW(write_atomically(name("d"), {}), Error);
  EXPECT_EQ(files(), 1U);
}

}  // namespace
}  // namespace evener
