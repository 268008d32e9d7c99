#include "tests/data/make_support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/core/error.h"
#include "evener/data/make/make.h"

namespace evener {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

MadeData example() {
  MadeData made;
  made.name = "example";
  made.description = "What it is.\n";
  made.features = {"f0", "f1"};
  made.train_names = {"first", "second"};
  made.test_names = {"third"};
  made.train = make_dataset({{0, 1, 3}, {1, 0, 1}, {2, 1, 1}}, 2, {{0, 1, 2}, {0, 2}, {}}, 3,
                            {"a", "b", "c"});
  made.test = make_dataset({{0, 1}, {0}, {5}}, 2, {{0, 1}, {1}, {}}, 3, {"a", "b", "c"});
  return made;
}

std::string error_of(const MadeData& made, const std::string& directory, bool force) {
  try {
    write_made(made, directory, force);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(WriteMade, WritesEveryFile) {
  const TestFolder folder;
  write_made(example(), folder.file("new/set/"), false);
  const auto file = [&](const char* name) { return contents_of(folder.file("new/set/") + name); };
  EXPECT_EQ(file("train.txt"), "2 2 3\n0 1:2\n2 0:1 1:1\n");
  EXPECT_EQ(file("test.txt"), "1 2 3\n1 0:5\n");
  EXPECT_EQ(file("labels.txt"), "a\nb\nc\n");
  EXPECT_EQ(file("features.txt"), "f0\nf1\n");
  EXPECT_EQ(file("train.names.txt"), "first\nsecond\n");
  EXPECT_EQ(file("test.names.txt"), "third\n");
  EXPECT_THAT(file("README.txt"), HasSubstr("evener dataset example"));
  EXPECT_THAT(file("README.txt"), HasSubstr("What it is."));
  EXPECT_THAT(file("README.txt"), HasSubstr("rows       2\n"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.file("new")), {}), 1);
}

TEST(WriteMade, LeavesOutWhatThereIsNot) {
  const TestFolder folder;
  MadeData made = example();
  made.features.clear();
  made.train_names.clear();
  made.test_names.clear();
  made.test = {};
  write_made(made, folder.file("set"), false);
  EXPECT_TRUE(fs::exists(folder.file("set/train.txt")));
  EXPECT_TRUE(fs::exists(folder.file("set/labels.txt")));
  for (const char* name : {"features.txt", "test.txt", "train.names.txt", "test.names.txt"}) {
    EXPECT_FALSE(fs::exists(folder.file("set/") + name)) << name;
  }
}

TEST(WriteMade, ReplacesOnlyIfForced) {
  const TestFolder folder;
  const std::string set = folder.file("set");
  write_made(example(), set, false);
  MadeData other = example();
  other.features = {"new0", "new1"};
  EXPECT_THAT(error_of(other, set, false), HasSubstr("exists already"));
  EXPECT_EQ(contents_of(folder.file("set/features.txt")), "f0\nf1\n");
  EXPECT_THROW(check_target(set, false), UsageError);
  EXPECT_NO_THROW(check_target(set, true));
  write_made(other, set, true);
  EXPECT_EQ(contents_of(folder.file("set/features.txt")), "new0\nnew1\n");
  EXPECT_EQ(folder.entries(), 1U);  // the old one was removed
}

TEST(WriteMade, NeverRemovesWhatIsNotADataSet) {
  const TestFolder folder;
  write_made(example(), folder.file("set"), false);
  folder.file("set/thesis.txt", "years of work");
  EXPECT_THAT(error_of(example(), folder.file("set"), true), HasSubstr("thesis.txt"));
  EXPECT_EQ(contents_of(folder.file("set/thesis.txt")), "years of work");
  EXPECT_THAT(error_of(example(), folder.file("set/thesis.txt"), true),
              HasSubstr("is not a directory"));
  fs::create_directory_symlink(folder.file("set"), folder.file("link"));
  EXPECT_THAT(error_of(example(), folder.file("link"), true), HasSubstr("is not a directory"));
  for (const char* directory : {"", ".", "..", "/", "a/.."}) {
    EXPECT_THROW(write_made(example(), directory, true), UsageError) << directory;
  }
}

TEST(WriteMade, LeavesNothingWhenItFails) {
  const TestFolder folder;
  MadeData broken = example();
  broken.test_names = {"line\nbreak"};  // detected after most files are written
  EXPECT_THAT(error_of(broken, folder.file("set"), false), HasSubstr("line break"));
  EXPECT_EQ(folder.entries(), 0U);

  write_made(example(), folder.file("set"), false);
  EXPECT_THAT(error_of(broken, folder.file("set"), true), HasSubstr("line break"));
  EXPECT_EQ(folder.entries(), 1U);
  EXPECT_EQ(contents_of(folder.file("set/test.names.txt")), "third\n");
}

TEST(WriteMade, FillsAnEmptyDirectoryIfForced) {
  const TestFolder folder;
  fs::create_directory(folder.file("set"));
  EXPECT_THAT(error_of(example(), folder.file("set"), false), HasSubstr("exists already"));
  write_made(example(), folder.file("set"), true);
  EXPECT_TRUE(fs::exists(folder.file("set/README.txt")));
}

TEST(WriteMade, SaysWhereItCannotWrite) {
  const TestFolder folder;
  folder.file("file", "");
  EXPECT_THAT(error_of(example(), folder.file("file/set"), false), HasSubstr("file/set"));
}

}  // namespace
}  // namespace evener
