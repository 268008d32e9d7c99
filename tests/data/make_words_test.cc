#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/data/make/words.h"

namespace evener {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(Words, AreLowerCaseRunsOfLettersAndDigits) {
  EXPECT_THAT(split_words("GNU C++ Library: v2.1_x"),
              ElementsAre("gnu", "c", "library", "v2", "1", "x"));
  EXPECT_THAT(split_words(" -- "), IsEmpty());
  EXPECT_THAT(split_words(""), IsEmpty());
}

TEST(Words, KeepOtherScriptsWholeAndSplitAtTheirPunctuation) {
  EXPECT_THAT(split_words("na\u00efve \u65e5\u672c\u8a9e"),
              ElementsAre("na\u00efve", "\u65e5\u672c\u8a9e"));
  EXPECT_THAT(split_words("a\u2014b\u00a0c \u201cd\u201d"), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(split_words("cut\xC2"), ElementsAre("cut"));
  EXPECT_THAT(split_words("cut\xE2\x80"), ElementsAre("cut"));
}

TEST(Words, StopWordsAreKnown) {
  for (const char* word : {"a", "for", "your"}) EXPECT_TRUE(is_stop_word(word)) << word;
  for (const char* word : {"", "b", "forth", "zoo"}) EXPECT_FALSE(is_stop_word(word)) << word;
}

TEST(PackageFeatures, MarkTheWordsOfTheName) {
  EXPECT_THAT(package_features("libfoo-perl", "the Foo for perl"),
              UnorderedElementsAre("libfoo", "name:libfoo", "perl", "name:perl", "name:libfoo-perl",
                                   "name:^libfoo", "name:perl$", "foo", "perl"));
}

TEST(PackageFeatures, KeepStopWordsOfTheNameAsNames) {
  EXPECT_THAT(package_features("at", ""), UnorderedElementsAre("name:at", "name:^at", "name:at$"));
  EXPECT_THAT(package_features("", "the"), IsEmpty());
}

}  // namespace
}  // namespace evener
