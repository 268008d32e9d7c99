#include "evener/run/report/svg_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace evener {

namespace {

constexpr double kLetter = 6.6;  // width of a digit at the style sheet's 11 px
constexpr double kTop = 24, kRight = 12;
constexpr double kTickRoom = 20, kTitleRoom = 16;  // below
constexpr std::size_t kMarkers = 7;                // on a line; more would hide its dashes
constexpr double kMarkerRadius = 3.4;
// Colours, dashes and markers repeat with coprime periods, so that 140 lines look different.
constexpr std::array<const char*, 4> kDashes = {"", "7 3", "2 3", "9 3 2 3"};
constexpr std::size_t kShapes = 5;
constexpr double kLeast = 1e-100;  // smaller values count as zero
constexpr double kMost = 1e100;

/// Maps values of the two axes to page coordinates.
class Frame {
 public:
  explicit Frame(const Chart& chart, double left)
      : x_(chart.x),
        y_(chart.y),
        left_(left),
        width_(std::max(chart.width - left - kRight, 1.0)),
        height_(std::max(chart.height - kTop - kTickRoom - (chart.x.title.empty() ? 0 : kTitleRoom),
                         1.0)) {}

  double left() const { return left_; }
  double right() const { return left_ + width_; }
  double bottom() const { return kTop + height_; }
  double width() const { return width_; }
  double height() const { return height_; }
  double x(double value) const { return left_ + width_ * place(x_, value); }
  double y(double value) const { return kTop + height_ * (1 - place(y_, value)); }

  bool holds(const ChartPoint& point) const {
    return shows(point) && point.x >= x_.low && point.x <= x_.high && point.y >= y_.low &&
           point.y <= y_.high;
  }
  /// Has a coordinate, inside or outside the chart.
  bool shows(const ChartPoint& point) const {
    return std::isfinite(place(x_, point.x)) && std::isfinite(place(y_, point.y));
  }

 private:
  static double place(const ChartAxis& axis, double value) {
    double share = (value - axis.low) / (axis.high - axis.low);
    if (axis.logarithmic) share = std::log(value / axis.low) / std::log(axis.high / axis.low);
    // Clamped: browsers draw nothing if coordinates are huge.
    return std::isnan(share) || !is_showable(value) ? NAN : std::clamp(share, -20.0, 20.0);
  }

  const ChartAxis& x_;
  const ChartAxis& y_;
  double left_, width_, height_;
};

double round_step(double span, int count) {
  const double rough = span / std::max(count, 1);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

/// The same unit and number of digits for all ticks of an axis.
std::vector<std::string> tick_texts(const ChartAxis& axis) {
  const double largest = std::max(std::abs(axis.low), std::abs(axis.high));
  double unit = 1;
  const char* suffix = "";
  if (!axis.logarithmic && largest >= 1e6) {
    unit = 1e6;
    suffix = "M";
  } else if (!axis.logarithmic && largest >= 1e4) {
    unit = 1e3;
    suffix = "k";
  }
  const double step = axis.ticks.size() > 1 ? (axis.ticks[1] - axis.ticks[0]) / unit : 1;
  const int digits = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-6)));
  std::vector<std::string> texts;
  for (const double tick : axis.ticks) {
    if (axis.logarithmic || digits > 4 || largest >= 1e10) {
      texts.push_back(fmt::format("{:.6g}", tick));
    } else if (tick == 0) {
      texts.emplace_back("0");
    } else {
      texts.push_back(fmt::format("{:.{}f}{}", tick / unit, digits, suffix));
    }
  }
  return texts;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escape_html(text));
}

std::string rule(const char* css_class, double x1, double y1, double x2, double y2) {
  return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", css_class, x1, y1,
                     x2, y2);
}

std::string axes(const Chart& chart, const Frame& frame, const std::vector<std::string>& y_texts) {
  std::string out;
  for (std::size_t i = 0; i < chart.y.ticks.size(); ++i) {
    const double y = frame.y(chart.y.ticks[i]);
    out += rule("grid", frame.left(), y, frame.right(), y);
    out += text_at(frame.left() - 6, y + 4, "end", y_texts[i]);
  }
  const std::vector<std::string> x_texts = tick_texts(chart.x);
  for (std::size_t i = 0; i < chart.x.ticks.size(); ++i) {
    const double x = frame.x(chart.x.ticks[i]);
    out += rule("axis", x, frame.bottom(), x, frame.bottom() + 4);
    out += text_at(x, frame.bottom() + 16, "middle", x_texts[i]);
  }
  out += rule("axis", frame.left(), frame.bottom(), frame.right(), frame.bottom());
  if (!chart.x.title.empty()) {
    out += text_at(frame.right(), chart.height - 5, "end", chart.x.title);
  }
  // Not rotated: easier to read, and leaves the width to the curves.
  out += text_at(2, 12, "start", chart.y.title);
  return out;
}

std::string marker(std::size_t style, double x, double y) {
  const double r = kMarkerRadius;
  switch (style % kShapes) {
    case 0:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>", x, y, r);
    case 1:
      return fmt::format("<path d=\"M{:.1f} {:.1f}h{r}v{r}h-{r}z\"/>", x - r, y - r,
                         fmt::arg("r", 2 * r));
    case 2:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l{} {}h-{}z\"/>", x, y - 1.3 * r, 1.2 * r,
                         2.2 * r, 2.4 * r);
    case 3:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l{r} {r}l-{r} {r}l-{r} -{r}z\"/>", x, y - 1.4 * r,
                         fmt::arg("r", 1.4 * r));
    default:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l{} {}h-{}z\"/>", x, y + 1.3 * r, 1.2 * r,
                         -2.2 * r, 2.4 * r);
  }
}

std::string stroke(const ChartLine& line, const std::string& path) {
  const std::string dashes = line.pale ? "" : kDashes[line.style % kDashes.size()];
  return fmt::format("<path class=\"{}\"{} d=\"{}\"><title>{}</title></path>\n",
                     line.pale ? "line pale" : "line",
                     dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dashes), path,
                     escape_html(line.name));
}

std::string path_of(const ChartLine& line, const Frame& frame) {
  std::string path;
  bool pen_down = false;
  for (const ChartPoint& point : line.points) {
    if (frame.shows(point)) {
      path +=
          fmt::format("{}{:.1f} {:.1f}", pen_down ? 'L' : 'M', frame.x(point.x), frame.y(point.y));
    }
    pen_down = frame.shows(point);
  }
  return path;
}

std::string markers_of(const ChartLine& line, const Frame& frame) {
  std::vector<ChartPoint> seen;
  std::copy_if(line.points.begin(), line.points.end(), std::back_inserter(seen),
               [&](const ChartPoint& point) { return frame.holds(point); });
  if (seen.empty()) return "";
  // Each style has markers at other points, so that overlapping lines can be distinguished.
  const std::size_t stride = std::max<std::size_t>(1, seen.size() / kMarkers);
  std::string out;
  for (std::size_t i = 3 * line.style % kMarkers * stride / kMarkers; i < seen.size();
       i += stride) {
    out += marker(line.style, frame.x(seen[i].x), frame.y(seen[i].y));
  }
  return "<g class=\"marks\">" + out + "</g>\n";
}

std::string band_path(const ChartBand& band, const Frame& frame, double begin) {
  std::string there, back;
  double from = begin;
  const std::size_t count = std::min({band.x.size(), band.low.size(), band.high.size()});
  for (std::size_t i = 0; i < count; ++i) {
    if (!frame.shows({band.x[i], band.low[i]}) || !frame.shows({band.x[i], band.high[i]})) continue;
    there += fmt::format("{}{:.1f} {:.1f}H{:.1f}", there.empty() ? 'M' : 'L', frame.x(from),
                         frame.y(band.high[i]), frame.x(band.x[i]));
    back = fmt::format("L{:.1f} {:.1f}H{:.1f}", frame.x(band.x[i]), frame.y(band.low[i]),
                       frame.x(from)) +
           back;
    from = band.x[i];
  }
  return there.empty() ? "" : there + back + "z";
}

std::string level_of(const Chart& chart, const Frame& frame) {
  if (!chart.level || !frame.holds({chart.x.low, chart.level->y})) return "";
  const double y = frame.y(chart.level->y);
  const double text_y = y - kTop < 18 ? y + 15 : y - 6;
  return rule("level", frame.left(), y, frame.right(), y) + "<g class=\"halo\">" +
         text_at(frame.left() + 6, text_y, "start", chart.level->label) + "</g>\n";
}

}  // namespace

ChartAxis linear_axis(const std::string& title, double low, double high, int count, bool tight) {
  ChartAxis axis{title, 0, 1, {}, false};
  if (low <= high && is_showable(low) && is_showable(high)) {
    axis.low = low;
    axis.high = high;
  }
  // A single value, or values that differ only by rounding: an axis around it.
  const double scale = std::max(std::abs(axis.low), std::abs(axis.high));
  if (axis.high - axis.low <= 1e-9 * scale || scale < kLeast) {
    const double room = scale < kLeast ? 1 : scale / 10;
    axis.low -= axis.low == 0 ? 0 : room;
    axis.high += room;
  }
  const double step = round_step(axis.high - axis.low, count);
  if (!tight) {
    axis.low = step * std::floor(axis.low / step + 1e-9);
    axis.high = step * std::ceil(axis.high / step - 1e-9);
  }
  const double first = std::ceil(axis.low / step - 1e-9);
  const int ticks = 1 + static_cast<int>(std::floor(axis.high / step - first + 1e-9));
  for (int i = 0; i < ticks; ++i) axis.ticks.push_back((first + i) * step);
  return axis;
}

ChartAxis power_axis(const std::string& title, double low, double high) {
  const int first = static_cast<int>(std::floor(std::log2(low) + 1e-9));
  const int last = std::max(static_cast<int>(std::ceil(std::log2(high) - 1e-9)), first + 1);
  const int stride = 1 + (last - first - 1) / 6;
  ChartAxis axis{title, std::exp2(first), std::exp2(last), {}, true};
  for (int power = first; power <= last; power += stride) axis.ticks.push_back(std::exp2(power));
  return axis;
}

std::string svg(const Chart& chart) {
  const std::vector<std::string> y_texts = tick_texts(chart.y);
  std::size_t messages = 1;
  for (const std::string& text : y_texts) messages = std::max(messages, text.size());
  const Frame frame(chart, 10 + kLetter * static_cast<double>(messages));

  std::string out =
      fmt::format("<svg class=\"chart {}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
                  chart.css_class, chart.width, chart.height, escape_html(chart.label));
  out += axes(chart, frame, y_texts);
  // An inner <svg> of the same scale, which clips its content.
  out += fmt::format(
      "<svg x=\"{0:.1f}\" y=\"{1}\" width=\"{2:.1f}\" height=\"{3:.1f}\" "
      "viewBox=\"{0:.1f} {1} {2:.1f} {3:.1f}\">\n",
      frame.left(), kTop, frame.width(), frame.height());
  for (const ChartBand& band : chart.bands) {
    const std::string path = band_path(band, frame, chart.x.low);
    if (path.empty()) continue;
    out += fmt::format("<path class=\"{}\" d=\"{}\"><title>{}</title></path>\n", band.css_class,
                       path, escape_html(band.name));
  }
  for (const ChartLine& line : chart.lines) {
    const std::string path = path_of(line, frame);
    if (path.empty()) continue;
    out += fmt::format("<g class=\"s{}\">{}</g>\n", line.style % kLineColours, stroke(line, path));
  }
  out += "</svg>\n";
  for (const ChartLine& line : chart.lines) {
    if (line.pale) continue;
    out += fmt::format("<g class=\"s{}\">{}</g>\n", line.style % kLineColours,
                       markers_of(line, frame));
  }
  return out + level_of(chart, frame) + "</svg>\n";
}

std::string svg_swatch(std::size_t style) {
  const ChartLine line{"", {}, style, false};
  return fmt::format(
      "<svg class=\"swatch s{}\" viewBox=\"0 0 36 12\" aria-hidden=\"true\">{}<g "
      "class=\"marks\">{}</g></svg>",
      style % kLineColours, stroke(line, "M1 6L35 6"), marker(style, 18, 6));
}

bool is_showable(double value) {
  return std::abs(value) < kMost;
}

std::string escape_html(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        // Control characters are not allowed in HTML.
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
    }
  }
  return out;
}

}  // namespace evener
