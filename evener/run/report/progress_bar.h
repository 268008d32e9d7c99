// The progress display: a bar that is redrawn on a terminal, plain lines in a pipe.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace evener {

/// What the environment allows; read by the command, as nothing below it reads the environment.
struct DisplayOptions {
  bool redraw = true;  // false for TERM=dumb
  bool colour = true;  // false for NO_COLOR
};

struct Display {
  bool terminal = false;  // redraw in place
  bool colour = false;    // only ever on a terminal
  int width = 80;         // columns; a narrow terminal drops parts, never wraps
};

/// What the stream is, from isatty and its window size; asked again on each redraw.
Display display_of(int descriptor, const DisplayOptions& options = {});

struct ProgressState {
  std::uint64_t epoch = 0, epochs = 0;  // epoch counts from 1
  double epoch_share = 0;               // 0..1 of the current epoch
  double total_share = 0;               // 0..1 of the whole run
  double seconds = 0;                   // since the start
  double samples_per_second = 0;
  double loss = 0;
  std::string metrics;  // the last evaluation, e.g. "P@1 79.8  P@5 54.9"
};

/// "42s", "3:07" (minutes), "2:05h", "3d 4h"; "?" where the time is not known.
std::string format_duration(double seconds);

/// `text` broken into lines of the stream's width, if it is a terminal; else as it is.
std::string fitted(const std::string& text, int descriptor, const DisplayOptions& options = {});

/// One line for the state, at most `width` columns, with an ETA; pure, so that it can be tested.
std::string progress_line(const ProgressState& state, const Display& display);

class ProgressBar {
 public:
  explicit ProgressBar(std::FILE* stream, const DisplayOptions& options = {});
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// Redraws at most ten times a second (of the state's clock) on a terminal; nothing in a pipe.
  void update(const ProgressState& state);
  /// Ends the line and leaves a permanent one (an epoch's result) above the bar, wrapped where the
  /// terminal is too narrow for it.
  void print(const std::string& line);
  void clear();

 private:
  std::FILE* stream_;
  DisplayOptions options_;
  double last_draw_ = -1;  // state.seconds then; negative: draw at once
  bool drawn_ = false;
};

}  // namespace evener
