// The progress display: a bar that is redrawn on a terminal, plain lines in a pipe.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace evener {

/// Display settings from the environment. Only the command reads the environment.
struct DisplayOptions {
  bool redraw = true;  // false for TERM=dumb
  bool colour = true;  // false for NO_COLOR
};

struct Display {
  bool terminal = false;  // redraw in place
  bool colour = false;    // only on a terminal
  int width = 80;         // columns; a narrow terminal drops parts, never wraps
};

/// The kind and width of the stream, from isatty and its window size; called on each redraw.
Display display_of(int descriptor, const DisplayOptions& options = {});

struct ProgressState {
  std::uint64_t epoch = 0, epochs = 0;  // epoch counts from 1
  double epoch_share = 0;               // 0..1 of the current epoch
  double total_share = 0;               // 0..1 of the whole run
  double seconds = 0;                   // since the start
  double training_seconds = 0;          // part of them, of the total_seconds of a run ...
  double total_seconds = 0;             // ... that ends by time; 0: it does not
  double samples_per_second = 0;
  double loss = 0;
  std::string metrics;  // the last evaluation, e.g. "P@1 79.8  P@5 54.9"
};

/// "42s", "3:07" (minutes), "2:05h", "3d 4h"; "?" if the time is not known.
std::string format_duration(double seconds);
/// "42s of 3:07", "0.5 of 1.2 s".
std::string part_of_duration(double seconds, double total);

/// `text` wrapped at the stream's width if it is a terminal, else unchanged.
std::string fitted(const std::string& text, int descriptor, const DisplayOptions& options = {});

/// One line for the state, at most `width` columns, with an ETA. A pure function, for tests.
std::string progress_line(const ProgressState& state, const Display& display);

class ProgressBar {
 public:
  explicit ProgressBar(std::FILE* stream, const DisplayOptions& options = {});
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// Redraws at most ten times per second (by the state's clock) on a terminal; does nothing in a
  /// pipe.
  void update(const ProgressState& state);
  /// Prints a permanent line (an epoch's result) above the bar, wrapped if the terminal is too
  /// narrow. Control characters in it, newlines too, are spelt out: names come from files and other
  /// processes.
  void print(const std::string& line);
  void clear();

 private:
  std::FILE* stream_;
  DisplayOptions options_;
  double last_draw_ = -1;  // state.seconds of the last redraw; negative: redraw at once
  bool drawn_ = false;
};

}  // namespace evener
