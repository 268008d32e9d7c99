// Plain SVG charts for an HTML page whose style sheet sets the colours: classes s0 to s6 for lines
// (kLineColours), and the classes of bands.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace evener {

inline constexpr std::size_t kLineColours = 7;

struct ChartPoint {
  double x = 0, y = 0;
};

struct ChartLine {
  std::string name;                // shown as a tooltip
  std::vector<ChartPoint> points;  // NaN breaks the line
  std::size_t style = 0;           // colour, dashes and markers
  bool pale = false;               // thin, without dashes and markers
};

/// The area between low[i] and high[i] from x[i - 1] to x[i]; the first begins at the axis.
struct ChartBand {
  std::string name, css_class;
  std::vector<double> x, low, high;
};

/// A dashed line across the chart.
struct ChartLevel {
  double y = 0;
  std::string label;
};

struct ChartAxis {
  std::string title;
  double low = 0, high = 1;
  std::vector<double> ticks;
  bool logarithmic = false;
};

struct Chart {
  std::string label;  // text alternative, for screen readers
  std::string css_class;
  double width = 300, height = 180;
  ChartAxis x, y;
  std::vector<ChartBand> bands;
  std::vector<ChartLine> lines;
  std::optional<ChartLevel> level;
};

/// About `count` round ticks. The axis ends at round numbers, or at the values if `tight`.
ChartAxis linear_axis(const std::string& title, double low, double high, int count, bool tight);
/// Ticks at powers of two. `low` must be positive.
ChartAxis power_axis(const std::string& title, double low, double high);

std::string svg(const Chart& chart);
/// A short line in that style, for a legend.
std::string svg_swatch(std::size_t style);

/// A finite number, small enough that arithmetic on it does not overflow.
bool is_showable(double value);

std::string escape_html(const std::string& text);

}  // namespace evener
