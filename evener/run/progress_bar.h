// The progress display: a bar that is redrawn on a terminal, plain lines in a pipe.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace evener {

struct Display {
  bool terminal = false;  // redraw in place
  bool colour = false;    // NO_COLOR honoured by the caller
  int width = 80;         // columns; a narrow terminal drops parts, never wraps
};

/// What the stream is, from isatty, TERM and its window size; asked again on each redraw.
Display display_of(int descriptor);

struct ProgressState {
  std::uint64_t epoch = 0, epochs = 0;  // epoch counts from 1
  double epoch_share = 0;               // 0..1 of the current epoch
  double total_share = 0;               // 0..1 of the whole run
  double seconds = 0;                   // since the start
  double samples_per_second = 0;
  double loss = 0;
  std::string metrics;  // the last evaluation, e.g. "P@1 79.8  P@5 54.9"
};

/// One line for the state, at most `width` columns, with an ETA; pure, so that it can be tested.
std::string progress_line(const ProgressState& state, const Display& display);

class ProgressBar {
 public:
  explicit ProgressBar(std::FILE* stream);
  ~ProgressBar();
  /// Redraws at most ten times a second on a terminal; does nothing in a pipe.
  void update(const ProgressState& state);
  /// Ends the line and leaves a permanent one (an epoch's result) above the bar.
  void print(const std::string& line);
  void clear();

 private:
  std::FILE* stream_;
  double last_draw_ = -1;
  bool drawn_ = false;
};

}  // namespace evener
