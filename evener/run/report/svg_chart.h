// Plain charts as SVG, to stand in an HTML page whose style sheet gives the colours: classes s0 to
// s6 for lines (kLineColours), and whatever a band names.
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
  std::string name;                // shown when pointed at
  std::vector<ChartPoint> points;  // one that is not a number breaks the line
  std::size_t style = 0;           // colour, dashes and markers
  bool pale = false;               // thin, without dashes and markers
};

/// Between low[i] and high[i] from x[i - 1] to x[i]; the first begins where the axis does.
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
  std::string label;  // says in words what is seen
  std::string css_class;
  double width = 300, height = 180;
  ChartAxis x, y;
  std::vector<ChartBand> bands;
  std::vector<ChartLine> lines;
  std::optional<ChartLevel> level;
};

/// About `count` round ticks. The axis ends at round numbers, or if `tight` where the values do.
ChartAxis linear_axis(const std::string& title, double low, double high, int count, bool tight);
/// Ticks at powers of two. `low` must be positive.
ChartAxis power_axis(const std::string& title, double low, double high);

std::string svg(const Chart& chart);
/// A short piece of a line of that style, for a legend.
std::string svg_swatch(std::size_t style);

/// Is a number, and so far from the largest there is that one can reckon with it.
bool is_showable(double value);

std::string escape_html(const std::string& text);

}  // namespace evener
