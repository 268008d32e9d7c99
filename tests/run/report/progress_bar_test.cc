#include "evener/run/report/progress_bar.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "tests/run/report/terminal.h"
#include "tests/run/support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/run/report/epoch_line.h"
#include "evener/run/report/text_width.h"

namespace evener {
namespace {

using testing::HasSubstr;
using testing::Not;

ProgressState typical() {
  ProgressState state;
  state.epoch = 3;
  state.epochs = 10;
  state.epoch_share = 0.5;
  state.total_share = 0.25;
  state.seconds = 60;
  state.samples_per_second = 12345;
  state.loss = 1.23456;
  state.metrics = "P@1 79.8  P@5 54.9";
  return state;
}

Display terminal(int width, bool colour = false) {
  return {true, colour, width};
}

bool has_controls(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

TEST(Duration, ReadsAsAClockDoes) {
  EXPECT_EQ(format_duration(0), "0s");
  EXPECT_EQ(format_duration(59.4), "59s");
  EXPECT_EQ(format_duration(59.6), "1:00");
  EXPECT_EQ(format_duration(187), "3:07");
  EXPECT_EQ(format_duration(3599), "59:59");
  EXPECT_EQ(format_duration(3600), "1:00h");
  EXPECT_EQ(format_duration(7530), "2:06h");
  EXPECT_EQ(format_duration(76.0 * 3600), "3d 4h");
  for (const double unknown : {-1.0, 1e300, HUGE_VAL, std::nan("")}) {
    EXPECT_EQ(format_duration(unknown), "?");
  }
}

TEST(DisplayColumns, CountsColumnsNotBytes) {
  EXPECT_EQ(display_columns(""), 0U);
  EXPECT_EQ(display_columns("abc"), 3U);
  EXPECT_EQ(display_columns("█░"), 2U);
  EXPECT_EQ(display_columns("größe"), 5U);
  EXPECT_EQ(display_columns("e\u0301"), 1U);
  EXPECT_EQ(display_columns("漢字"), 4U);
  EXPECT_EQ(display_columns("\x1b[32mok\x1b[0m"), 2U);
  EXPECT_EQ(display_columns("\xFF\xFE"
                            "a"),
            3U);
  EXPECT_EQ(display_columns("\xE6\xBC"), 2U) << "cut off in the middle of a character";
}

TEST(ProgressLine, IsNeverWiderThanTheTerminal) {
  ProgressState state = typical();
  for (const std::string metrics : {"", "P@1 79.8  P@5 54.9", "精度 79.8 größe 3"}) {
    state.metrics = metrics;
    for (const double share : {0.0, 0.001, 0.25, 0.999, 1.0, 7.0}) {
      state.total_share = share;
      for (int width = 0; width <= 200; ++width) {
        for (const bool colour : {false, true}) {
          const std::string line = progress_line(state, terminal(width, colour));
          EXPECT_LE(display_columns(line), static_cast<std::size_t>(width)) << line;
        }
      }
    }
  }
}

TEST(ProgressLine, DropsTheLeastImportantPartsFirst) {
  const auto at = [](int width) { return progress_line(typical(), terminal(width)); };
  EXPECT_EQ(at(200),
            " 25% ███████░░░░░░░░░░░░░░░░░░░░░░░  epoch 3/10  ETA 3:00  12.3k/s"
            "  loss 1.235  P@1 79.8  P@5 54.9");
  EXPECT_EQ(at(80),
            " 25% ███░░░░░░░░░  epoch 3/10  ETA 3:00  12.3k/s  loss 1.235  P@1 79.8  P@5 54.9");
  EXPECT_EQ(at(60), " 25%  epoch 3/10  ETA 3:00  loss 1.235  P@1 79.8  P@5 54.9");
  EXPECT_EQ(at(40), " 25%  epoch 3/10  ETA 3:00  loss 1.235");
  EXPECT_EQ(at(20), " 25% █░░░░  ETA 3:00");
  EXPECT_EQ(at(10), " 25% █░░░░");
}

TEST(ProgressLine, ShowsTheTimeOfARunThatEndsByTime) {
  ProgressState state = typical();
  state.epochs = 0;
  state.epoch = 7;
  state.training_seconds = 90;
  state.total_seconds = 360;
  state.total_share = 0.25;
  state.seconds = 100;
  const std::string line = progress_line(state, terminal(120));
  EXPECT_THAT(line, testing::StartsWith(" 25%"));
  EXPECT_THAT(line, testing::HasSubstr("epoch 7  1:30 of 6:00  ETA 5:00"));
  EXPECT_THAT(progress_line(state, terminal(40)), testing::HasSubstr("1:30 of 6:00  ETA 5:00"));
  state.training_seconds = 0.5;
  state.total_seconds = 1.25;
  EXPECT_THAT(progress_line(state, terminal(120)), testing::HasSubstr("0.50 of 1.25 s"));
}

TEST(EpochLine, ShowsTheTimeOfARunThatEndsByTime) {
  EpochLine line;
  line.epoch = 3;
  line.epochs = 14;
  line.train_loss = 0.5;
  line.seconds = 42;
  EXPECT_EQ(text_of(line), "epoch 3/14  loss 0.5000  0 rows/s  42s");
  line.total_seconds = 300;
  EXPECT_EQ(text_of(line), "epoch 3  loss 0.5000  0 rows/s  42s of 5:00");
  line.part = 0.25;
  EXPECT_EQ(text_of(line), "epoch 3 (25 % of it)  loss 0.5000  0 rows/s  42s of 5:00");
}

TEST(ProgressLine, MeasuresTextByItsColumns) {
  ProgressState state = typical();
  state.metrics = "精度 79.8 größe 3";  // 17 columns, 23 bytes
  const std::string whole = " 25%  epoch 3/10  ETA 3:00  12.3k/s  loss 1.235  精度 79.8 größe 3";
  EXPECT_EQ(progress_line(state, terminal(66)), whole);
  EXPECT_EQ(progress_line(state, terminal(65)).find("12.3k/s"), std::string::npos);
}

TEST(ProgressLine, ColoursOnlyWhenAskedAndOnATerminal) {
  EXPECT_TRUE(has_controls(progress_line(typical(), {true, true, 80})));
  EXPECT_FALSE(has_controls(progress_line(typical(), {true, false, 80})));
  EXPECT_FALSE(has_controls(progress_line(typical(), {false, true, 80})));
  EXPECT_FALSE(has_controls(progress_line(typical(), {false, false, 80})));
}

TEST(ProgressLine, SurvivesNumbersThatAreNone) {
  ProgressState state = typical();
  state.metrics = "evil\n\x1b[2Jmetric";
  state.total_share = state.loss = state.samples_per_second = state.seconds = std::nan("");
  const std::string line = progress_line(state, terminal(120));
  EXPECT_THAT(line, HasSubstr("  0%"));
  EXPECT_THAT(line, HasSubstr("ETA ?"));
  EXPECT_THAT(line, HasSubstr("loss nan"));
  EXPECT_FALSE(has_controls(line));
}

TEST(ProgressBar, WritesNothingButWholeLinesIntoAPipe) {
  const Folder folder;
  std::FILE* file = std::fopen((folder / "out").c_str(), "w");
  ASSERT_NE(file, nullptr);
  {
    ProgressBar bar(file);
    ProgressState state = typical();
    for (int i = 0; i < 5; ++i) {
      state.seconds += 1;
      bar.update(state);
    }
    bar.print("epoch 1");
    bar.update(state);
    bar.print("lost: x\nevener: error: forged");
    bar.clear();
  }
  std::fclose(file);
  EXPECT_EQ(contents_of(folder / "out"), "epoch 1\nlost: x\\x0aevener: error: forged\n");
}

TEST(ProgressBar, RedrawsInPlaceOnATerminal) {
  Terminal user;
  if (user.stream() == nullptr) GTEST_SKIP() << "no pseudo-terminals here";
  user.resize(60);
  ProgressBar bar(user.stream(), {true, false});
  ProgressState state = typical();
  bar.update(state);
  EXPECT_EQ(user.received(), "\r\x1b[K" + progress_line(state, terminal(59)));

  state.seconds += 0.05;
  bar.update(state);
  EXPECT_EQ(user.received(), "") << "ten times a second is enough";

  state.seconds += 0.06;
  user.resize(30);
  bar.update(state);
  EXPECT_EQ(user.received(), "\r\x1b[K" + progress_line(state, terminal(29)));

  bar.print("epoch 1 done");
  EXPECT_EQ(user.received(), "\r\x1b[Kepoch 1 done\r\n");
  bar.update(state);
  EXPECT_EQ(user.received(), "\r\x1b[K" + progress_line(state, terminal(29)))
      << "at once after a line, or the screen would stay without a bar";
  bar.clear();
  EXPECT_EQ(user.received(), "\r\x1b[K");
  bar.clear();
  EXPECT_EQ(user.received(), "");
}

TEST(Wrapped, LeavesWhatFits) {
  EXPECT_EQ(wrapped("", 10), "");
  EXPECT_EQ(wrapped("a  b\n\n c\n", 4), "a  b\n\n c\n");
  EXPECT_EQ(wrapped("größe 漢", 8), "größe 漢");
}

TEST(Wrapped, GoesOnBelowTheSecondColumn) {
  EXPECT_EQ(wrapped("speed  one two three\nend", 14), "speed  one two\n       three\nend");
  EXPECT_EQ(wrapped("one two three", 8), "one two\nthree");
  EXPECT_EQ(wrapped("    one two", 8), "    one\n    two");
  EXPECT_EQ(wrapped("a very long first column  x", 12), "a very long\nfirst column\nx");
  EXPECT_EQ(wrapped("busy 50 %", 8), "busy\n50 %");
}

TEST(Wrapped, BreaksLongWordsBetweenTheirParts) {
  EXPECT_EQ(wrapped("sgd:gamma=0:beta=1", 12), "sgd:gamma=0:\nbeta=1");
  EXPECT_EQ(wrapped("x  sgd:gamma=0:beta=1", 12), "x  sgd:\n   gamma=0:\n   beta=1");
  EXPECT_EQ(wrapped("opencl:0  skylake-avx512-Intel(R)", 20),
            "opencl:0  skylake-\n          avx512-\n          Intel(R)");
  EXPECT_EQ(wrapped("unbreakable words", 5), "unbre\nakabl\ne\nwords");
  EXPECT_EQ(wrapped("漢漢漢漢", 5), "漢漢\n漢漢");
}

TEST(Wrapped, IsNeverWider) {
  const std::string text =
      "epoch 1/2  loss 16.3647 (test 16.4548)  P@1 15.25  P@3 11.50  0s\n"
      "opencl:0.0  pthread-skylake-avx512-Intel(R) Xeon(R) Platinum_8481C_with_a_long_name\n";
  for (std::size_t width = 20; width < 80; ++width) {
    std::istringstream lines(wrapped(text, width));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
  }
}

TEST(ProgressBar, WrapsLinesForANarrowTerminal) {
  Terminal user;
  if (user.stream() == nullptr) GTEST_SKIP() << "no pseudo-terminals here";
  user.resize(30);
  ProgressBar bar(user.stream());
  bar.print("epoch 1/2  loss 16.3647  P@1 15.25");
  EXPECT_EQ(user.received(), "epoch 1/2  loss 16.3647\r\n           P@1 15.25\r\n")
      << "names stay with their values";
}

TEST(ProgressBar, ObeysADumbTerminal) {
  Terminal user;
  if (user.stream() == nullptr) GTEST_SKIP() << "no pseudo-terminals here";
  ProgressBar bar(user.stream(), {false, true});
  bar.update(typical());
  EXPECT_EQ(user.received(), "");
  EXPECT_TRUE(display_of(fileno(user.stream())).colour);
  EXPECT_FALSE(display_of(fileno(user.stream()), {true, false}).colour);
}

}  // namespace
}  // namespace evener
