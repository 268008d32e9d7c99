// A comparison as an HTML page: style, text and order of its parts.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "evener/core/counted.h"
#include "evener/run/compare/comparison_notes.h"
#include "evener/run/compare/comparison_parts.h"
#include "evener/run/report/metric_text.h"
#include "evener/run/report/svg_chart.h"

namespace evener {

namespace {

// Line colours are the colour-blind safe palette of Okabe and Ito, without its yellow, which is
// invisible on white. The dark theme is for screens only, not for print.
constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --back: #fff; --text: #1b1b1b; --soft: #5c5c5c; --rule: #d9d9d9;
  --mark: #e8f3ec; --wait: #d4d4d4; --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #cc79a7;
  --c4: #e69f00; --c5: #56b4e9; --c6: #1b1b1b; }
@media screen and (prefers-color-scheme: dark) { :root { --back: #16181a; --text: #e8e8e8;
  --soft: #a8a8a8; --rule: #3b3f43; --mark: #1d3328; --wait: #484c50; --c0: #3d9fdb; --c1: #f07c1f;
  --c2: #1fc294; --c3: #dd94bb; --c6: #f0f0f0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 62rem; background: var(--back);
  color: var(--text); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
.advice { border-left: 4px solid var(--c2); background: var(--mark); padding: .6rem .9rem; }
.advice p { margin: .3rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; overflow-wrap: normal;
  font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--rule); text-align: right;
  vertical-align: top; }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
th:first-child, th.name { text-align: left; min-width: 8rem; overflow-wrap: anywhere; }
th:first-child:not(.name) { min-width: 11.5rem; }
tbody th { font-weight: 600; }
td { white-space: nowrap; }
td small, th small { display: block; color: var(--soft); font-weight: 400; }
.best { background: var(--mark); }
.badge { display: inline-block; border: 1px solid currentColor; border-radius: 3px;
  padding: 0 .35em; font-size: .75rem; font-weight: 600; color: var(--c2); }
.bad { color: var(--c1); }
.note, footer { color: var(--soft); font-size: .9rem; }
footer { margin-top: 2rem; border-top: 1px solid var(--rule); }
figure { margin: .5rem 0; min-width: 0; }
figcaption { font-size: .9rem; color: var(--soft); margin-bottom: .3rem; }
.charts { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); }
.charts .chart { max-width: 25rem; }
.chart { display: block; width: 100%; height: auto; }
.chart text { font: 11px system-ui, sans-serif; fill: var(--text); }
.wide text { font-size: 12px; }
.narrow { display: none; }
.grid, .axis, .level { fill: none; stroke: var(--rule); }
.axis { stroke: var(--soft); }
.level { stroke: var(--text); stroke-width: 1.3; stroke-dasharray: 6 4; }
.halo text { paint-order: stroke; stroke: var(--back); stroke-width: 4px; font-weight: 600; }
.line { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; }
.pale { stroke-width: 1; opacity: .35; }
.marks { fill: var(--c); stroke: var(--back); stroke-width: .8; }
.compute { fill: var(--c2); background: var(--c2); }
.transfer { fill: var(--c4); background: var(--c4); }
.waiting { fill: var(--wait); background: var(--wait); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem 1.2rem; margin: .25rem 0;
  padding: 0; font-size: .9rem; }
.swatch { width: 36px; height: 12px; flex: none; }
.box { display: inline-block; width: 14px; height: 10px; }
.s0 { --c: var(--c0); } .s1 { --c: var(--c1); } .s2 { --c: var(--c2); } .s3 { --c: var(--c3); }
.s4 { --c: var(--c4); } .s5 { --c: var(--c5); } .s6 { --c: var(--c6); }
@media (max-width: 40rem) { .wide { display: none; } .narrow { display: block; }
  th, td { padding: .35rem; } th:first-child:not(.name) { min-width: 9.5rem; } }
@media print { html { font-size: 10pt; } body { max-width: none; padding: 0; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  figure, tr, .advice { break-inside: avoid; } h2, h3, figcaption, .note { break-after: avoid; }
  .scroll { overflow: visible; } table { font-size: 8pt; } th, td { padding: .2rem .3rem; }
  .charts { grid-template-columns: repeat(3, 1fr); } }
)";

std::string paragraph(const std::string& text) {
  return "<p>" + escape_html(text) + "</p>\n";
}

std::string target_text(const Comparison& comparison) {
  return metric_title(comparison.metric) + " " + quality_text(comparison, comparison.target);
}

/// "cpu, gpu and fpga".
std::string listed_text(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

std::string seeds_text(const Comparison& comparison) {
  std::set<std::uint64_t> seeds;
  for (const ComparedStrategy& strategy : comparison.strategies) {
    for (const ComparedRun& run : strategy.runs) seeds.insert(run.seed);
  }
  if (seeds.size() > 10) return counted(seeds.size(), "seed");
  return fmt::format("{} {}", seeds.size() == 1 ? "seed" : "seeds", fmt::join(seeds, ", "));
}

std::string introduction(const Comparison& comparison) {
  const std::size_t count = comparison.strategies.size();
  std::string text = fmt::format("{} {} trained the same network (full head) on {}", count,
                                 count == 1 ? "strategy" : "strategies", comparison.data);
  if (!comparison.devices.empty()) text += ", on " + listed_text(comparison.devices);
  text +=
      fmt::format(", with {}: {}. They were timed in {} until {} on the evaluation data.",
                  seeds_text(comparison), budget_text(comparison),
                  comparison.virtual_time ? "virtual seconds" : "seconds", target_text(comparison));
  std::string out = paragraph(text);
  if (comparison.interrupted) {
    out +=
        "<p><strong>Interrupted:</strong> only the runs that were finished by then are here, which "
        "may be fewer of one strategy than of another.</p>\n";
  }
  if (comparison.virtual_time) {
    out +=
        "<p><strong>All times are virtual:</strong> the devices were simulated, nothing was "
        "timed on this machine.</p>\n";
  }
  return out;
}

std::string against_next(const Comparison& comparison, const Verdict& verdict) {
  if (comparison.strategies.size() < 2) return "";
  const double time = verdict.best->time_to_target().median;
  const double other = verdict.next == nullptr ? NAN : verdict.next->time_to_target().median;
  if (!is_showable(other)) return "No other strategy got there in half of its runs.";
  std::string text = fmt::format("Next is {} with {}", verdict.next->strategy, seconds_text(other));
  if (time > 0) text += fmt::format(", {:.2f} times as long", other / time);
  return text + ".";
}

std::string strong(const std::string& text) {
  return "<strong>" + escape_html(text) + "</strong>";
}

/// A note if the ranges of the best and the next strategy overlap, or there are none.
std::string close_note(const Verdict& verdict) {
  if (verdict.one_seed) {
    return fmt::format(
        "<p>{}: how much the results vary from seed to seed is not known. More "
        "seeds (--seeds 5) would show it.</p>\n",
        strong("One seed"));
  }
  if (!verdict.too_close) return "";
  return fmt::format(
      "<p>{}: the {} of {} and {} overlap from seed to seed, so other seeds may change the order. "
      "More seeds (--seeds) may separate them.</p>\n",
      strong("Too close to call"), verdict.by_time ? "times" : "final qualities",
      strong(verdict.best->strategy), strong(verdict.next->strategy));
}

std::string advice(const Comparison& comparison) {
  const Verdict verdict = comparison.verdict();
  if (verdict.best == nullptr) {
    return "<div class=\"advice\">\n" +
           paragraph("None can be recommended: no strategy has a result.") + "</div>\n";
  }
  const ComparedStrategy& best = *verdict.best;
  const MedianRange time = best.time_to_target();
  const MedianRange quality = best.final_quality();
  std::string out = close_note(verdict);
  const std::string use = (verdict.one_seed    ? "<p>Ahead with this seed is "
                           : verdict.too_close ? "<p>The better median is that of "
                                               : "<p>Use ") +
                          strong(best.strategy);
  if (verdict.by_time) {
    const std::string text = fmt::format(
        " with learning rate {}: it reached {} in {}{} (median of {}; {} to {}; {} of {} got "
        "there) and ended at {}. ",
        rate_text(best.learning_rate), target_text(comparison), seconds_text(time.median),
        comparison.virtual_time ? " of virtual time" : "", counted(best.runs.size(), "run"),
        seconds_text(time.low), seconds_text(time.high), best.reached(), best.runs.size(),
        quality_text(comparison, quality.median));
    out += use + escape_html(text + against_next(comparison, verdict)) + "</p>\n";
  } else {
    const std::string text = fmt::format(
        ": it has the best final {}, {} (median of {}; {} to {}), with learning rate {}. More "
        "{} or a lower target would separate them by time.",
        metric_title(comparison.metric), quality_text(comparison, quality.median),
        counted(best.runs.size(), "run"), quality_text(comparison, quality.low),
        quality_text(comparison, quality.high), rate_text(best.learning_rate),
        comparison.budget().high > 0 ? "time" : "epochs");
    out += paragraph("No strategy reached " + target_text(comparison) +
                     " in half of its runs, so times cannot decide.") +
           use + escape_html(text) + "</p>\n";
  }
  return "<div class=\"advice\">\n" + out + "</div>\n";
}

std::string diverged_note(const Comparison& comparison) {
  std::string text;
  for (const ComparedStrategy& strategy : comparison.strategies) {
    const std::size_t count = diverged_runs(strategy);
    if (count == 0) continue;
    text += fmt::format("{}{} of {} of {}", text.empty() ? "" : "; ", count,
                        counted(strategy.runs.size(), "run"), strategy.strategy);
  }
  if (text.empty()) return "";
  return paragraph("Diverged, that is, the loss grew beyond bounds: " + text +
                   ". A smaller learning rate may help; their curves may leave the chart.");
}

std::string notes(const Comparison& comparison) {
  std::string items;
  for (const auto& note : comparison_notes(comparison)) {
    items += "<li>" + escape_html(note) + "</li>\n";
  }
  return items.empty() ? "" : "<ul class=\"note\">\n" + items + "</ul>\n";
}

std::string workers_over_time(const Comparison& comparison) {
  std::string out;
  for (const ComparedStrategy& strategy : comparison.strategies) {
    const std::string charts = worker_charts(strategy, comparison.virtual_time);
    if (charts.empty()) continue;
    out += fmt::format("<section>\n<h3>{}, seed {}</h3>\n{}</section>\n",
                       escape_html(strategy.strategy), strategy.runs.front().seed, charts);
  }
  if (out.empty()) return paragraph("Nothing was recorded of the workers over time.");
  return "<p class=\"note\">The first run of each strategy. Each chart has its own scales.</p>\n" +
         out;
}

std::string section(const std::string& title, const std::string& body) {
  return body.empty() ? ""
                      : "<section>\n<h2>" + escape_html(title) + "</h2>\n" + body + "</section>\n";
}

constexpr const char* kFooter = R"(<footer>
<p><b>Virtual time</b> is what the simulated devices would have taken, by the speeds they were
given; real training steps, but no clock.</p>
<p><b>Waiting</b> is the share of the time in which a worker neither computed nor sent or fetched
parameters: it had no work, or waited for the others.</p>
<p><b>Exchanges</b> are a strategy's synchronisations of models, under its own name: merges of all
replicas or gradients, pushes of one worker to the shared model, exchanges between two peers.</p>
<p><b>Distance between replicas</b> is sqrt(mean |w - m|²) / |m| over the workers' models w with
their mean m, at each evaluation, before the replicas are merged.</p>
<p><b>Staleness</b> is the number of updates by others between the start of a worker's step and its
end; 0 is a step on the newest parameters.</p>
</footer>
)";

std::string contents(const Comparison& comparison) {
  if (comparison.strategies.empty()) return paragraph("No strategies were compared.");
  return introduction(comparison) + advice(comparison) + diverged_note(comparison) +
         section("Strategies",
                 strategy_table(comparison) +
                     "<p class=\"note\">Large: median over the runs. Small: least and largest. "
                     "The time to the target is interpolated between the two evaluations around "
                     "it. Updates by worker: of the first run, for each update of the "
                     "slowest.</p>\n" +
                     notes(comparison)) +
         section("Quality over time", quality_chart(comparison)) +
         section("Communication over time", communication_charts(comparison)) +
         section("Workers over time", workers_over_time(comparison)) +
         section("Workers", worker_table(comparison)) +
         section("Tuning of the learning rate", tuning_table(comparison));
}

}  // namespace

std::string comparison_html(const Comparison& comparison) {
  const std::string title = escape_html("Strategies compared on " + comparison.data);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{2}{3}</body>\n"
      "</html>\n",
      title, kStyle, contents(comparison), kFooter);
}

}  // namespace evener
