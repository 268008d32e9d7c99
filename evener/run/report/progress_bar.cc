#include "evener/run/report/progress_bar.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "evener/core/printable.h"
#include "evener/run/report/text_width.h"

namespace evener {

namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr std::size_t kWidestBar = 30;
constexpr std::size_t kNarrowestBar = 5;
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kDim = "\x1b[2m";
constexpr const char* kPlain = "\x1b[0m";
constexpr const char* kEraseLine = "\r\x1b[K";

double share(double value) {
  return value > 0 ? std::min(value, 1.0) : 0.0;  // NaN: nothing done yet
}

std::string without_controls(const std::string& text) {
  std::string clean;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) clean += c;
  }
  return clean;
}

std::string rate_text(double rate) {
  if (!(rate >= 0) || std::isinf(rate)) return "";
  if (rate < 999.5) return fmt::format("{:.0f}/s", rate);
  if (rate < 999'950) return fmt::format("{:.1f}k/s", rate / 1e3);
  return fmt::format("{:.1f}M/s", rate / 1e6);
}

std::string eta_text(const ProgressState& state) {
  const double done = share(state.total_share);
  if (done <= 0) return "ETA ?";
  return "ETA " + format_duration(state.seconds * (1 - done) / done);
}

/// A bar of `columns` cells, each a full or a light block, so that it is readable without colours.
std::string bar_text(double done, std::size_t columns, bool colour) {
  const auto filled = static_cast<std::size_t>(done * static_cast<double>(columns));
  std::string bar = colour ? kGreen : "";
  for (std::size_t i = 0; i < filled; ++i) bar += "█";
  if (colour) bar += std::string(kPlain) + kDim;
  for (std::size_t i = filled; i < columns; ++i) bar += "░";
  return bar + (colour ? kPlain : "");
}

/// A piece of the line. Pieces are in display order; if space is short, the lowest rank is dropped
/// first.
struct BarPart {
  std::string text;
  int rank;
};

std::vector<BarPart> parts_of(const ProgressState& state) {
  std::vector<BarPart> parts;
  parts.push_back({fmt::format("{:3.0f}%", std::floor(share(state.total_share) * 100)), 9});
  if (state.epochs > 0) {
    parts.push_back({fmt::format("epoch {}/{}", state.epoch, state.epochs), 6});
  }
  if (state.total_seconds > 0) {
    parts.push_back({fmt::format("epoch {}", state.epoch), 2});
    parts.push_back({part_of_duration(state.training_seconds, state.total_seconds), 6});
  }
  parts.push_back({eta_text(state), 8});
  parts.push_back({rate_text(state.samples_per_second), 3});
  parts.push_back({fmt::format("loss {:.4g}", state.loss), 5});
  parts.push_back({without_controls(state.metrics), 4});
  parts.erase(std::remove_if(parts.begin(), parts.end(),
                             [](const BarPart& part) { return part.text.empty(); }),
              parts.end());
  return parts;
}

std::size_t columns_of(const std::vector<BarPart>& parts) {
  std::size_t columns = parts.empty() ? 0 : 2 * (parts.size() - 1);
  for (const BarPart& part : parts) columns += display_columns(part.text);
  return columns;
}

void drop_until_fits(std::vector<BarPart>& parts, std::size_t width) {
  const auto lower = [](const BarPart& a, const BarPart& b) { return a.rank < b.rank; };
  while (!parts.empty() && columns_of(parts) > width) {
    parts.erase(std::min_element(parts.begin(), parts.end(), lower));
  }
}

}  // namespace

std::string format_duration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  const auto s = static_cast<std::uint64_t>(std::llround(seconds));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  const std::uint64_t minutes = (s + 30) / 60;
  if (minutes < 48 * 60) return fmt::format("{}:{:02}h", minutes / 60, minutes % 60);
  const std::uint64_t hours = (minutes + 30) / 60;
  return fmt::format("{}d {}h", hours / 24, hours % 24);
}

Display display_of(int descriptor, const DisplayOptions& options) {
  Display display;
  if (!options.redraw || isatty(descriptor) == 0) return display;
  display.terminal = true;
  display.colour = options.colour;
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) display.width = size.ws_col;
  return display;
}

std::string part_of_duration(double seconds, double total) {
  if (total < 10) return fmt::format("{:.2f} of {:g} s", seconds, total);
  return format_duration(seconds) + " of " + format_duration(total);
}

std::string fitted(const std::string& text, int descriptor, const DisplayOptions& options) {
  const Display display = display_of(descriptor, options);
  return display.terminal ? wrapped(text, static_cast<std::size_t>(display.width)) : text;
}

std::string progress_line(const ProgressState& state, const Display& display) {
  const auto width = static_cast<std::size_t>(std::max(display.width, 0));
  std::vector<BarPart> parts = parts_of(state);
  drop_until_fits(parts, width);

  const std::size_t used = columns_of(parts);
  std::string line;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) line += "  ";
    line += parts[i].text;
    // The bar gets the remaining columns, after the percentage.
    if (i == 0 && width >= used + kNarrowestBar + 1) {
      const std::size_t columns = std::min(width - used - 1, kWidestBar);
      line += ' ';
      line += bar_text(share(state.total_share), columns, display.terminal && display.colour);
    }
  }
  return line;
}

ProgressBar::ProgressBar(std::FILE* stream, const DisplayOptions& options)
    : stream_(stream), options_(options) {}

ProgressBar::~ProgressBar() {
  clear();
}

void ProgressBar::update(const ProgressState& state) {
  Display display = display_of(fileno(stream_), options_);
  if (!display.terminal) return;
  const bool soon =
      last_draw_ >= 0 && state.seconds >= last_draw_ && state.seconds < last_draw_ + kRedrawSeconds;
  if (soon) return;
  // Some terminals wrap as soon as the last column is written.
  --display.width;
  const std::string text = kEraseLine + progress_line(state, display);
  std::fwrite(text.data(), 1, text.size(), stream_);
  std::fflush(stream_);
  last_draw_ = state.seconds;
  drawn_ = true;
}

void ProgressBar::print(const std::string& line) {
  // A single write, so that lines of several processes in one pipe do not interleave.
  std::string text = drawn_ ? kEraseLine : "";
  text += fitted(printable(line), fileno(stream_), options_) + '\n';
  std::fwrite(text.data(), 1, text.size(), stream_);
  std::fflush(stream_);
  drawn_ = false;
  last_draw_ = -1;
}

void ProgressBar::clear() {
  if (!drawn_) return;
  std::fputs(kEraseLine, stream_);
  std::fflush(stream_);
  drawn_ = false;
  last_draw_ = -1;
}

}  // namespace evener
