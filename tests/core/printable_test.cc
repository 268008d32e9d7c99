#include "evener/core/printable.h"

#include <string>

#include <gtest/gtest.h>

namespace evener {
namespace {

TEST(Printable, OrdinaryTextStays) {
  const std::string text =
      "name with \"marks\" \\ \xC3\xA9 \xE6\xBC\xA2 \xF0\x9F\x90\x8E \xC2\xA0.";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, ControlCharactersAreSpeltOut) {
  EXPECT_EQ(printable("\x1b[2J\x07 a\tb\r\n\x7f"), "\\x1b[2J\\x07 a\\x09b\\x0d\\x0a\\x7f");
  EXPECT_EQ(printable(std::string("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m\xC2\x80"),
            "\\xc2\\x9b31m\\xc2\\x80");
}

TEST(Printable, BytesThatAreNotUtf8AreSpeltOut) {
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");
  EXPECT_EQ(printable("\xE9t\xE9"), "\\xe9t\\xe9");
  EXPECT_EQ(printable("\xC0\x9B"), "\\xc0\\x9b");           // overlong ESC
  EXPECT_EQ(printable("\xE0\x80\x9B"), "\\xe0\\x80\\x9b");  // overlong
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xE6\xBC"), "\\xe6\\xbc");  // cut short
}

TEST(Printable, LinesKeepOnlyTheirNewlines) {
  EXPECT_EQ(printable_lines("one\n\x1b[1mtwo\r\n"), "one\n\\x1b[1mtwo\\x0d\n");
}

}  // namespace
}  // namespace evener
