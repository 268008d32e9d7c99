// The charts of a comparison's page.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "evener/run/compare/comparison_parts.h"
#include "evener/run/report/metric_text.h"
#include "evener/run/report/svg_chart.h"

namespace evener {

namespace {

constexpr double kLogarithmicFrom = 8;  // ratio of the largest to the smallest batch
constexpr double kUnreached = std::numeric_limits<double>::infinity();

/// The least and the largest number seen; ignores NaN.
struct ValueRange {
  double low = kUnreached, high = -kUnreached;

  void add(double value) {
    if (!is_showable(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

/// The order of runs for the median: by time to the target, and by quality for runs that never
/// reach it.
std::size_t median_run(const ComparedStrategy& strategy, bool larger_is_better) {
  std::vector<std::size_t> order(strategy.runs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto rank = [&](std::size_t i) {
    const ComparedRun& run = strategy.runs[i];
    const double quality = larger_is_better ? -run.final_quality : run.final_quality;
    return std::pair(run.seconds_to_target.value_or(kUnreached),
                     is_showable(quality) ? quality : kUnreached);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return order.empty() ? 0 : order[order.size() / 2];
}

std::string seconds_title(bool virtual_time) {
  return virtual_time ? "virtual seconds of training" : "seconds of training";
}

/// The range over runs that did not diverge, if there are any: one loss of 1e30 would flatten all
/// curves.
ValueRange quality_range(const Comparison& comparison, bool with_diverged) {
  ValueRange range;
  for (const ComparedStrategy& strategy : comparison.strategies) {
    for (const ComparedRun& run : strategy.runs) {
      if (run.diverged && !with_diverged) continue;
      for (const CurvePoint& point : run.curve) range.add(point.quality);
    }
  }
  return range;
}

/// value_of(point) over time; points without a value are left out.
template <class F>
ChartLine curve_line(const ComparedRun& run, const std::string& name, std::size_t style, bool pale,
                     F value_of) {
  ChartLine line{fmt::format("{}, seed {}", name, run.seed), {}, style, pale};
  for (const CurvePoint& point : run.curve) {
    if (const std::optional<double> value = value_of(point)) {
      line.points.push_back({point.seconds, *value});
    }
  }
  return line;
}

std::string legend_item(const std::string& swatch, const std::string& name) {
  return fmt::format("<li>{} {}</li>\n", swatch, escape_html(name));
}

std::string figure(const std::string& title, const std::string& body, const std::string& legend) {
  return fmt::format(
      "<figure>\n<figcaption>{}</figcaption>\n{}<ul class=\"legend\">{}</ul>\n"
      "</figure>\n",
      escape_html(title), body, legend);
}

/// One value of each worker over time; values of 0 or less are left out of logarithmic axes.
std::string worker_lines(const ComparedRun& run, const std::string& title,
                         const std::string& y_title, double WorkerPoint::*value, bool skip_zero,
                         const ChartAxis& x) {
  ValueRange range;
  std::string legend;
  Chart chart;
  for (std::size_t i = 0; i < run.series.size(); ++i) {
    const std::string name = worker_name_text(run, i);
    ChartLine line{name, {}, i, false};
    for (const WorkerPoint& point : run.series[i]) {
      if (skip_zero && !(point.*value > 0)) continue;
      line.points.push_back({point.seconds, point.*value});
      range.add(point.*value);
    }
    legend += legend_item(svg_swatch(i), name);
    chart.lines.push_back(line);
  }
  const bool logarithmic = skip_zero && !range.empty() && range.high > kLogarithmicFrom * range.low;
  chart.label = title + " of each worker over time";
  chart.x = x;
  chart.y = logarithmic ? power_axis(y_title + " (logarithmic)", range.low, range.high)
                        : linear_axis(y_title, 0, range.high, 4, false);
  return figure(title, svg(chart), legend);
}

/// A value of the strategies' runs over time; strategies that never have any are left out.
struct CommunicationChart {
  std::string title, y_title;
  std::function<std::optional<double>(const CurvePoint&)> value_of;
  bool from_zero = true;  // no communication at the start of a run
  bool named = false;     // the legend names each strategy's unit
};

/// Empty if no strategy has any.
std::string communication_chart(const Comparison& comparison, const CommunicationChart& args,
                                const ChartAxis& x) {
  ValueRange range;
  std::vector<ChartLine> pale, bold;
  std::string legend;
  for (std::size_t i = 0; i < comparison.strategies.size(); ++i) {
    const ComparedStrategy& strategy = comparison.strategies[i];
    const std::size_t median = median_run(strategy, comparison.larger_is_better);
    ValueRange own;
    for (std::size_t j = 0; j < strategy.runs.size(); ++j) {
      ChartLine line =
          curve_line(strategy.runs[j], strategy.strategy, i, j != median, args.value_of);
      if (args.from_zero) line.points.insert(line.points.begin(), ChartPoint{});
      for (const ChartPoint& point : line.points) own.add(point.y);
      (j == median ? bold : pale).push_back(std::move(line));
    }
    if (own.empty() || (args.from_zero && own.high == 0)) {
      const auto of_it = [&](const ChartLine& line) { return line.style == i; };
      std::erase_if(pale, of_it);
      std::erase_if(bold, of_it);
      continue;
    }
    range.add(own.high);
    const bool names = args.named && !strategy.exchanges_are.empty();
    legend += legend_item(svg_swatch(i),
                          strategy.strategy + (names ? ": " + strategy.exchanges_are : ""));
  }
  if (bold.empty()) return "";
  Chart chart;
  chart.label = args.title + " of each strategy over time";
  chart.lines = std::move(pale);
  chart.lines.insert(chart.lines.end(), bold.begin(), bold.end());
  chart.x = x;
  chart.y = linear_axis(args.y_title, 0, range.high, 4, false);
  return figure(args.title, svg(chart), legend);
}

double share(double value) {
  return value > 0 ? std::min(value, 1.0) : 0.0;  // NaN: 0
}

std::string worker_utilization(const ComparedRun& run, std::size_t i, const ChartAxis& x) {
  ChartBand compute{"computing", "compute", {}, {}, {}};
  ChartBand transfer{"transfer", "transfer", {}, {}, {}};
  ChartBand waiting{"waiting", "waiting", {}, {}, {}};
  for (const WorkerPoint& point : run.series[i]) {
    if (!is_showable(point.seconds)) continue;
    const double computing = 100 * share(point.compute);
    const double moving = std::min(100 * share(point.transfer), 100 - computing);
    const auto add = [&](ChartBand& band, double low, double high) {
      band.x.push_back(point.seconds);
      band.low.push_back(low);
      band.high.push_back(high);
    };
    add(compute, 0, computing);
    add(transfer, computing, computing + moving);
    add(waiting, computing + moving, 100);
  }
  Chart chart;
  chart.label = "Utilization of " + worker_name_text(run, i) + " over time";
  chart.height = 118;
  chart.x = x;
  if (i + 1 < run.series.size()) {
    chart.x.title.clear();  // the charts are stacked: one title is enough
    chart.height -= 16;
  }
  chart.y = {worker_name_text(run, i) + ", % of time", 0, 100, {0, 50, 100}, false};
  chart.bands = {compute, transfer, waiting};
  return svg(chart);
}

}  // namespace

std::string quality_chart(const Comparison& comparison) {
  ValueRange quality = quality_range(comparison, false);
  if (quality.empty()) quality = quality_range(comparison, true);
  if (quality.empty()) return "<p>No run was evaluated, so there is no curve to show.</p>\n";
  quality.add(comparison.target);
  const bool in_percent = comparison.metric != "loss";
  const double scale = in_percent ? 100 : 1;

  ValueRange seconds;
  std::vector<ChartLine> pale, bold;
  std::string legend;
  for (std::size_t i = 0; i < comparison.strategies.size(); ++i) {
    const ComparedStrategy& strategy = comparison.strategies[i];
    const std::size_t median = median_run(strategy, comparison.larger_is_better);
    for (std::size_t j = 0; j < strategy.runs.size(); ++j) {
      for (const CurvePoint& point : strategy.runs[j].curve) seconds.add(point.seconds);
      (j == median ? bold : pale)
          .push_back(curve_line(strategy.runs[j], strategy.strategy, i, j != median,
                                [&](const CurvePoint& point) { return scale * point.quality; }));
    }
    legend += legend_item(svg_swatch(i), strategy.strategy);
  }

  const std::string metric = metric_title(comparison.metric);
  Chart chart;
  chart.label = metric + " of each strategy over time";
  chart.lines = pale;
  chart.lines.insert(chart.lines.end(), bold.begin(), bold.end());
  if (is_showable(comparison.target)) {
    chart.level = {scale * comparison.target,
                   "target " + quality_text(comparison, comparison.target)};
  }
  chart.y = linear_axis(metric + (in_percent ? " in %" : ""), scale * quality.low,
                        scale * quality.high, 8, false);
  // Drawn in two sizes, because text that is scaled down with its chart is unreadable on a phone.
  std::string drawn;
  for (const bool wide : {true, false}) {
    chart.css_class = wide ? "wide" : "narrow";
    chart.width = wide ? 940 : 350;
    chart.height = wide ? 400 : 290;
    chart.x =
        linear_axis(seconds_title(comparison.virtual_time), 0, seconds.high, wide ? 10 : 4, true);
    drawn += svg(chart);
  }
  return figure("Bold: the run with the median time to the target. Pale: the other seeds.", drawn,
                legend);
}

std::string communication_charts(const Comparison& comparison) {
  ValueRange seconds;
  for (const ComparedStrategy& strategy : comparison.strategies) {
    for (const ComparedRun& run : strategy.runs) {
      for (const CurvePoint& point : run.curve) seconds.add(point.seconds);
    }
  }
  if (seconds.empty()) return "";
  const ChartAxis x = linear_axis(seconds_title(comparison.virtual_time), 0, seconds.high, 4, true);
  std::string charts =
      communication_chart(comparison,
                          {"Moved so far", "MB",
                           [](const CurvePoint& point) {
                             return static_cast<double>(point.communication.bytes) / 1e6;
                           }},
                          x);
  charts += communication_chart(
      comparison,
      {"Exchanges so far", "exchanges",
       [](const CurvePoint& point) { return static_cast<double>(point.communication.exchanges); },
       true, true},
      x);
  charts += communication_chart(comparison,
                                {"Distance between replicas", "share of the model's length",
                                 [](const CurvePoint& point) { return point.distance; }, false},
                                x);
  return charts.empty() ? "" : "<div class=\"charts\">\n" + charts + "</div>\n";
}

std::string worker_charts(const ComparedStrategy& strategy, bool virtual_time) {
  if (strategy.runs.empty()) return "";
  const ComparedRun& run = strategy.runs.front();
  ValueRange seconds;
  for (const auto& series : run.series) {
    for (const WorkerPoint& point : series) seconds.add(point.seconds);
  }
  if (seconds.empty()) return "";
  const ChartAxis x = linear_axis(seconds_title(virtual_time), 0, seconds.high, 5, true);

  std::string utilization;
  for (std::size_t i = 0; i < run.series.size(); ++i) utilization += worker_utilization(run, i, x);
  std::string legend;
  for (const char* kind : {"compute", "transfer", "waiting"}) {
    legend += legend_item(fmt::format("<span class=\"box {}\"></span>", kind), kind);
  }
  return "<div class=\"charts\">\n" +
         worker_lines(run, "Batch size", "rows", &WorkerPoint::batch, true, x) +
         worker_lines(run, "Updates so far", "updates", &WorkerPoint::updates, false, x) +
         figure("Utilization", utilization, legend) + "</div>\n";
}

}  // namespace evener
