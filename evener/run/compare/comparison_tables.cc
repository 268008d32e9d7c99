// The tables of a comparison's page, and its numbers as text.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "evener/core/counted.h"
#include "evener/run/compare/comparison_parts.h"
#include "evener/run/report/metric_text.h"
#include "evener/run/report/svg_chart.h"

namespace evener {

namespace {

constexpr const char* kNothing = "–";
constexpr std::size_t kRatioWorkers = 4;  // more would not fit into a cell

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  const std::size_t sign = digits.front() == '-' ? 1 : 0;
  for (std::size_t end = digits.size(); end > sign + 3; end -= 3) {
    digits.insert(digits.begin() + static_cast<std::ptrdiff_t>(end - 3), ',');
  }
  return digits;
}

std::string percent(double share) {
  return is_showable(share) ? fmt::format("{:.1f} %", 100 * share) : kNothing;
}

std::string range_text(const std::string& low, const std::string& high) {
  return low == high ? low : low + " – " + high;
}

std::string cell(const std::string& text, const std::string& below = "") {
  const std::string small =
      below.empty() || below == text ? "" : "<small>" + escape_html(below) + "</small>";
  return "<td>" + escape_html(text) + small + "</td>";
}

std::string table(const std::string& title, const std::vector<std::string>& columns,
                  const std::string& body) {
  std::string head;
  for (const std::string& column : columns) {
    const char* css_class = column == "Worker" ? " class=\"name\"" : "";
    head += fmt::format("<th scope=\"col\"{}>{}</th>", css_class, escape_html(column));
  }
  return fmt::format(
      "<div class=\"scroll\"><table aria-label=\"{}\">\n<thead><tr>{}</tr></thead>\n<tbody>\n{}"
      "</tbody>\n</table></div>\n",
      escape_html(title), head, body);
}

/// "8.2 : 1": the updates of each worker, relative to the slowest worker.
std::string updates_ratio(const ComparedRun& run) {
  std::uint64_t least = 0, most = 0;
  for (const WorkerResult& worker : run.workers) {
    most = std::max(most, worker.updates);
    if (worker.updates > 0) least = least == 0 ? worker.updates : std::min(least, worker.updates);
  }
  if (least == 0) return kNothing;
  const auto times = [least](std::uint64_t updates) {
    const double ratio = static_cast<double>(updates) / static_cast<double>(least);
    return updates % least == 0 ? grouped(ratio) : fmt::format("{:.1f}", ratio);
  };
  if (run.workers.size() > kRatioWorkers) return "1 to " + times(most);
  std::string text;
  for (const WorkerResult& worker : run.workers) {
    text += (text.empty() ? "" : " : ") + times(worker.updates);
  }
  return text;
}

/// "recommended", "ahead" (with one seed), "too close to call" or "".
std::string badge_of(const ComparedStrategy& strategy, const Verdict& verdict) {
  if (verdict.too_close) {
    return &strategy == verdict.best || &strategy == verdict.next ? "too close to call" : "";
  }
  if (&strategy != verdict.best) return "";
  return verdict.one_seed ? "ahead" : "recommended";
}

std::string strategy_head(const ComparedStrategy& strategy, std::size_t style,
                          const std::string& badge) {
  std::string out =
      fmt::format("<th scope=\"row\">{} {}", svg_swatch(style), escape_html(strategy.strategy));
  if (!badge.empty()) out += " <span class=\"badge\">" + badge + "</span>";
  if (const std::size_t diverged = diverged_runs(strategy); diverged > 0) {
    out += fmt::format(" <span class=\"badge bad\">{} diverged</span>", counted(diverged, "run"));
  }
  return out + "</th>";
}

std::string strategy_row(const Comparison& comparison, std::size_t i) {
  const ComparedStrategy& strategy = comparison.strategies[i];
  const std::string badge = badge_of(strategy, comparison.verdict());
  std::string out = badge.empty() ? "<tr>" : "<tr class=\"best\">";
  out += strategy_head(strategy, i, badge);
  if (strategy.runs.empty()) return out + "<td colspan=\"7\">no runs</td></tr>\n";

  const MedianRange time = strategy.time_to_target();
  out +=
      cell(seconds_text(time.median), range_text(seconds_text(time.low), seconds_text(time.high)));
  out += cell(fmt::format("{} of {}", strategy.reached(), counted(strategy.runs.size(), "run")));
  const MedianRange quality = strategy.final_quality();
  out += cell(
      quality_text(comparison, quality.median),
      range_text(quality_text(comparison, quality.low), quality_text(comparison, quality.high)));
  const MedianRange epochs = strategy.epochs();
  out += cell(number_text(epochs.median),
              range_text(number_text(epochs.low), number_text(epochs.high)));
  const MedianRange rate = strategy.samples_per_second();
  out += cell(number_text(rate.median), range_text(number_text(rate.low), number_text(rate.high)));
  out += cell(rate_text(strategy.learning_rate));
  return out + cell(updates_ratio(strategy.runs.front())) + "</tr>\n";
}

/// Shares of the tasks by staleness, if there is any: "0 83 % / 1 12 % / 3-4 5 %".
std::string staleness_text(const WorkerResult& worker) {
  if (worker.staleness == 0 || worker.tasks == 0) return "";
  std::string text;
  std::uint64_t least = 0;
  for (std::size_t i = 0; i < worker.staleness_counts.size(); ++i) {
    const bool last = i == kStalenessBounds.size();
    const std::string range = last ? fmt::format("> {}", least - 1)
                              : least == kStalenessBounds[i]
                                  ? std::to_string(least)
                                  : fmt::format("{}-{}", least, kStalenessBounds[i]);
    const std::uint64_t count = worker.staleness_counts[i];
    if (!last) least = kStalenessBounds[i] + 1;
    if (count == 0) continue;
    text += fmt::format("{}{}: {:.0f} %", text.empty() ? "" : ", ", range,
                        100 * static_cast<double>(count) / static_cast<double>(worker.tasks));
  }
  return text;
}

std::string worker_rows(const ComparedStrategy& strategy) {
  const std::vector<WorkerResult>& workers = strategy.runs.front().workers;
  std::string out;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const WorkerResult& worker = workers[i];
    out += "<tr>";
    if (i == 0) {
      out += fmt::format("<th scope=\"rowgroup\" rowspan=\"{}\">{}</th>", workers.size(),
                         escape_html(strategy.strategy));
    }
    out += fmt::format("<th scope=\"row\" class=\"name\">{}</th>",
                       escape_html(worker_name_text(strategy.runs.front(), i)));
    out += cell(grouped(static_cast<double>(worker.updates)));
    out += cell(grouped(static_cast<double>(worker.rows)));
    out += cell(grouped(static_cast<double>(worker.batch)));
    out += cell(percent(worker.compute)) + cell(percent(worker.transfer));
    out += cell(percent(is_showable(worker.compute + worker.transfer)
                            ? std::max(0.0, 1 - worker.compute - worker.transfer)
                            : NAN));
    out += cell(number_text(worker.staleness), staleness_text(worker));
    out += cell(number_text(static_cast<double>(worker.bytes) / 1e6)) + "</tr>\n";
  }
  return out;
}

}  // namespace

std::string number_text(double value) {
  if (!is_showable(value)) return kNothing;
  const double size = std::abs(value);
  if (size >= 1e12 || (size > 0 && size < 0.01)) return fmt::format("{:.3g}", value);
  if (size >= 99.95) return grouped(value);
  return fmt::format("{:.{}f}", value, size >= 9.995 ? 1 : 2);
}

std::string seconds_text(double seconds) {
  if (std::isinf(seconds)) return "never";
  return number_text(seconds) + (is_showable(seconds) ? " s" : "");
}

std::string quality_text(const Comparison& comparison, double quality) {
  if (!is_showable(quality)) return kNothing;
  if (comparison.metric != "loss") return metric_text(comparison.metric, quality) + " %";
  // A run that diverges may end with a loss of thirty digits.
  return std::abs(quality) >= 1e6 ? fmt::format("{:.3g}", quality)
                                  : metric_text(comparison.metric, quality);
}

std::string rate_text(double learning_rate) {
  return is_showable(learning_rate) ? fmt::format("{:.4g}", learning_rate) : kNothing;
}

std::string worker_name_text(const ComparedRun& run, std::size_t i) {
  const bool named = i < run.workers.size() && !run.workers[i].name.empty();
  return named ? run.workers[i].name : fmt::format("worker {}", i + 1);
}

std::size_t diverged_runs(const ComparedStrategy& strategy) {
  const auto count = std::count_if(strategy.runs.begin(), strategy.runs.end(),
                                   [](const ComparedRun& run) { return run.diverged; });
  return static_cast<std::size_t>(count);
}

std::string strategy_table(const Comparison& comparison) {
  std::string body;
  for (std::size_t i = 0; i < comparison.strategies.size(); ++i)
    body += strategy_row(comparison, i);
  return table("Strategies",
               {"Strategy", comparison.virtual_time ? "Virtual time to target" : "Time to target",
                "Reached by", "Final " + metric_title(comparison.metric), "Epochs", "Samples/s",
                "Learning rate", "Updates by worker"},
               body);
}

std::string worker_table(const Comparison& comparison) {
  std::string body;
  for (const ComparedStrategy& strategy : comparison.strategies) {
    if (!strategy.runs.empty()) body += worker_rows(strategy);
  }
  if (body.empty()) return "";
  return table("Workers",
               {"Strategy", "Worker", "Updates", "Rows", "Last batch", "Compute", "Transfer",
                "Waiting", "Mean staleness", "MB moved"},
               body);
}

std::string tuning_table(const Comparison& comparison) {
  std::set<double> rates;
  for (const ComparedStrategy& strategy : comparison.strategies) {
    for (const auto& [rate, quality] : strategy.tuning) rates.insert(rate);
  }
  if (rates.empty()) return "";
  std::vector<std::string> columns = {"Learning rate"};
  for (const double rate : rates) columns.push_back(rate_text(rate));
  std::string body;
  for (const ComparedStrategy& strategy : comparison.strategies) {
    body += "<tr><th scope=\"row\">" + escape_html(strategy.strategy) + "</th>";
    for (const double rate : rates) {
      const auto found = strategy.tuning.find(rate);
      const std::string text =
          found == strategy.tuning.end() ? "" : quality_text(comparison, found->second);
      const bool chosen = !text.empty() && rate == strategy.learning_rate;
      body += chosen ? "<td class=\"best\"><b>" + escape_html(text) + " ✓</b></td>" : cell(text);
    }
    body += "</tr>\n";
  }
  return table("Tuning", columns, body);
}

}  // namespace evener
