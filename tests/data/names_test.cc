#include "evener/data/names.h"

#include "tests/data/make_support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/core/error.h"

namespace evener {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Names, LieBesideTheData) {
  EXPECT_EQ(row_names_path("a/train.txt"), "a/train.names.txt");
  EXPECT_EQ(row_names_path("a.b/train.txt.gz"), "a.b/train.names.txt");
  EXPECT_EQ(row_names_path("train.svm.xz"), "train.names.txt");
  EXPECT_EQ(row_names_path("train"), "train.names.txt");
  EXPECT_EQ(label_names_path("train.txt"), "labels.txt");
}

TEST(Names, ReadBackAsWritten) {
  const TestFolder folder;
  const std::vector<std::string> names = {"one", "", "with blank", "\u00e9t\u00e9"};
  write_names(names, folder.file("n.txt"));
  EXPECT_EQ(read_names(folder.file("n.txt")), names);
  EXPECT_EQ(contents_of(folder.file("n.txt")), "one\n\nwith blank\n\u00e9t\u00e9\n");
}

TEST(Names, ReadFilesOfOtherEditors) {
  const TestFolder folder;
  EXPECT_THAT(read_names(folder.file("n.txt", "a\r\nb")), ElementsAre("a", "b"));
  EXPECT_THAT(read_names(folder.file("m.txt",
                                     "\xEF\xBB\xBF"
                                     "a\nb\n")),
              ElementsAre("a", "b"));
  EXPECT_THAT(read_names(folder.file("e.txt", "")), IsEmpty());
}

TEST(Names, RefuseLineBreaks) {
  const TestFolder folder;
  EXPECT_THROW(write_names({"a\nb"}, folder.file("n.txt")), Error);
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(Names, AreUsedOnlyIfTheyAreTheDatas) {
  const TestFolder folder;
  const std::string path = folder.file("n.txt", "a\nb\n");
  std::string warning;
  EXPECT_THAT(find_names(path, 2, &warning), ElementsAre("a", "b"));
  EXPECT_EQ(warning, "");
  EXPECT_THAT(find_names(path, 3, &warning), IsEmpty());
  EXPECT_THAT(warning, HasSubstr("has 2 names where the data has 3"));
  warning.clear();
  EXPECT_THAT(find_names(folder.file("absent.txt"), 3, &warning), IsEmpty());
  EXPECT_EQ(warning, "");
}

}  // namespace
}  // namespace evener
