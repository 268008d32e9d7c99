// A comparison as text for the terminal, and as JSON and CSV.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "evener/core/counted.h"
#include "evener/run/compare/comparison_notes.h"
#include "evener/run/report/metric_text.h"

namespace evener {

namespace {

using Json = nlohmann::ordered_json;

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return "never";
  return seconds < 100 ? fmt::format("{:.2f}", seconds) : fmt::format("{:.0f}", seconds);
}

std::string spread_text(const std::string& median, const std::string& low,
                        const std::string& high) {
  return low == high ? median : fmt::format("{} ({}..{})", median, low, high);
}

/// null for an infinite time, which JSON cannot represent.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json spread_json(const MedianRange& spread) {
  return {{"median", number(spread.median)},
          {"low", number(spread.low)},
          {"high", number(spread.high)}};
}

Json run_json(const ComparedRun& run) {
  Json result{
      {"seed", run.seed},
      {"seconds_to_target", run.seconds_to_target ? Json(*run.seconds_to_target) : Json(nullptr)},
      {"best", number(run.best_quality)},
      {"final", number(run.final_quality)},
      {"reached_at_first_evaluation", run.reached_at_first},
      {"budget_seconds", run.budget > 0 ? Json(run.budget) : Json(nullptr)},
      {"seconds", run.seconds},
      {"trial_seconds", run.trial_seconds},
      {"epochs", run.epochs},
      {"samples_per_second", run.samples_per_second},
      {"diverged", run.diverged},
      {"notes", run.notes}};
  for (const auto& point : run.curve) {
    result["curve"].push_back(
        {{"epoch", point.epoch},
         {"seconds", point.seconds},
         {"quality", point.quality},
         {"train_loss", point.train_loss},
         {"bytes", point.communication.bytes},
         {"exchanges", point.communication.exchanges},
         {"replica_distance", point.distance ? number(*point.distance) : Json(nullptr)}});
  }
  for (std::size_t i = 0; i < run.workers.size(); ++i) {
    const WorkerResult& worker = run.workers[i];
    Json entry{{"name", worker.name},
               {"updates", worker.updates},
               {"rows", worker.rows},
               {"last_batch", worker.batch},
               {"compute", worker.compute},
               {"transfer", worker.transfer},
               {"staleness", worker.staleness},
               {"bytes", worker.bytes},
               {"rejected", worker.rejected},
               {"exchanges", worker.exchanges},
               {"staleness_counts", worker.staleness_counts}};
    for (const auto& point : run.series[i]) {
      entry["series"].push_back({{"seconds", point.seconds},
                                 {"batch", point.batch},
                                 {"updates", point.updates},
                                 {"compute", point.compute},
                                 {"transfer", point.transfer}});
    }
    result["workers"].push_back(std::move(entry));
  }
  return result;
}

/// "12k/3k updates, batch 256/64, busy 98/97 %", from the first run.
std::string workers_text(const ComparedRun& run) {
  std::string updates, batches, busy;
  double staleness = 0;
  std::uint64_t rejected = 0, exchanges = 0;
  for (const auto& worker : run.workers) {
    const char* slash = updates.empty() ? "" : "/";
    updates += fmt::format("{}{}", slash, worker.updates);
    batches += fmt::format("{}{}", slash, worker.batch);
    busy += fmt::format("{}{:.0f}", slash, 100 * (worker.compute + worker.transfer));
    staleness = std::max(staleness, worker.staleness);
    rejected += worker.rejected;
    exchanges += worker.exchanges;
  }
  std::string text = fmt::format("updates {}, last batch {}, busy {} %, staleness {:.1f}", updates,
                                 batches, busy, staleness);
  if (rejected > 0 && exchanges > 0) text += ", " + counted(rejected, "offer") + " declined";
  if (rejected > 0 && exchanges == 0) {
    text += fmt::format(", {} {} refused", rejected, rejected == 1 ? "push" : "pushes");
  }
  return text;
}

/// The first row holds the titles, the first column the strategies.
using Table = std::vector<std::vector<std::string>>;

Table table_of(const Comparison& comparison) {
  const auto quality = [&](double value) { return metric_text(comparison.metric, value); };
  Table table{{"strategy", "time to target", "reached", "final " + metric_title(comparison.metric),
               "epochs", "rows/s", "lr"}};
  for (const auto& s : comparison.strategies) {
    const MedianRange time = s.time_to_target(), final = s.final_quality();
    table.push_back(
        {s.strategy,
         spread_text(seconds_text(time.median), seconds_text(time.low), seconds_text(time.high)),
         fmt::format("{}/{}", s.reached(), s.runs.size()),
         spread_text(quality(final.median), quality(final.low), quality(final.high)),
         fmt::format("{:.3g}", s.epochs().median),
         fmt::format("{:.0f}", s.samples_per_second().median),
         fmt::format("{:.4g}", s.learning_rate)});
  }
  return table;
}

/// Communication between workers, median over the runs. Only some comparisons have these columns.
Table communication_of(const Comparison& comparison) {
  const auto& all = comparison.strategies;
  const auto any = [&](auto has) { return std::any_of(all.begin(), all.end(), has); };
  Table table(all.size() + 1);
  const auto column = [&](const char* title, auto text_of) {
    table.front().emplace_back(title);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string text = text_of(all[i]);
      table[i + 1].push_back(text.empty() ? "-" : text);
    }
  };
  if (any([](const auto& s) { return s.bytes().high > 0; })) {
    column("MB moved", [](const auto& s) {
      return s.bytes().high > 0 ? fmt::format("{:.1f}", s.bytes().median / 1e6) : "";
    });
  }
  if (any([](const auto& s) { return !s.exchanges_are.empty(); })) {
    column("exchanges", [](const auto& s) {
      return s.exchanges_are.empty()
                 ? ""
                 : fmt::format("{:.0f} {}", s.exchanges().median, s.exchanges_are);
    });
  }
  if (any([](const auto& s) { return s.distance().has_value(); })) {
    column("distance", [](const auto& s) {
      const auto distance = s.distance();
      return distance ? fmt::format("{:.3g}", distance->median) : "";
    });
  }
  return table;
}

Table first_column(const Table& table) {
  Table column;
  for (const auto& row : table) column.push_back({row.front()});
  return column;
}

Table joined(Table left, const Table& right) {
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i].insert(left[i].end(), right[i].begin(), right[i].end());
  }
  return left;
}

std::vector<std::size_t> widths_of(const Table& table) {
  std::vector<std::size_t> widths(table.front().size());
  for (const auto& row : table) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

std::size_t columns_of(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
}

std::string side_by_side(const Table& table) {
  const std::vector<std::size_t> widths = widths_of(table);
  std::string text;
  for (const auto& row : table) {
    text += fmt::format("{:<{}}", row.front(), widths.front());
    for (std::size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
    text += '\n';
  }
  return text;
}

std::string one_below_the_other(const Table& table) {
  std::string text;
  for (std::size_t s = 1; s < table.size(); ++s) {
    text += table[s].front() + "\n";
    for (std::size_t i = 1; i < table[s].size(); ++i) {
      text += fmt::format("  {:<16}{}\n", table.front()[i], table[s][i]);
    }
    text += '\n';
  }
  return text;
}

std::string verdict_text(const Verdict& verdict) {
  if (verdict.best == nullptr) return "none can be recommended: no strategy has a result\n";
  if (verdict.one_seed) {
    return fmt::format(
        "ahead with this one seed: --strategy {}; other seeds may differ (--seeds 5)\n",
        verdict.best->strategy);
  }
  if (!verdict.too_close) {
    return fmt::format("recommended here: --strategy {}{}\n", verdict.best->strategy,
                       verdict.by_time ? ""
                                       : ", by its final quality: none reaches the target in half "
                                         "of its runs");
  }
  return fmt::format(
      "too close to call: the {} of {} and {} overlap from seed to seed; the first has the better "
      "median, and more --seeds may separate them\n",
      verdict.by_time ? "times" : "final qualities", verdict.best->strategy,
      verdict.next->strategy);
}

}  // namespace

std::string comparison_text(const Comparison& comparison, int width) {
  std::string text = fmt::format("devices: {}{}\n", fmt::join(comparison.devices, " + "),
                                 comparison.virtual_time ? " (virtual time)" : "");
  text += budget_text(comparison) + "\n";
  text += fmt::format("time to {} {} in seconds, median (least..most) over {}\n\n",
                      metric_title(comparison.metric),
                      metric_text(comparison.metric, comparison.target),
                      counted(comparison.strategies.front().runs.size(), "seed"));
  const Table results = table_of(comparison), communication = communication_of(comparison);
  const Table all = joined(results, communication);
  const auto fits = [&](const Table& table) {
    return columns_of(widths_of(table)) <= static_cast<std::size_t>(std::max(width, 0));
  };
  if (fits(all)) {
    text += side_by_side(all) + "\n";
  } else if (fits(results)) {  // communication then fits into its own table
    text += side_by_side(results) + "\n" +
            side_by_side(joined(first_column(results), communication)) + "\n";
  } else {
    text += one_below_the_other(all);
  }
  const std::size_t names = widths_of(results).front();
  for (const auto& s : comparison.strategies) {
    text += fmt::format("{:<{}}  {}\n", s.strategy, names, workers_text(s.runs.front()));
  }
  const std::vector<std::string> notes = comparison_notes(comparison);
  if (!notes.empty()) text += "\n" + fmt::format("{}\n", fmt::join(notes, "\n"));
  if (comparison.strategies.size() == 1) return text;
  return text + "\n" + verdict_text(comparison.verdict());
}

std::string comparison_json(const Comparison& comparison) {
  const Verdict verdict = comparison.verdict();
  const bool sure = verdict.best != nullptr && !verdict.too_close && !verdict.one_seed;
  Json close = Json::array();
  if (verdict.too_close) close = {verdict.best->strategy, verdict.next->strategy};
  Json result{
      {"data", comparison.data},
      {"metric", comparison.metric},
      {"target", comparison.target},
      {"devices", comparison.devices},
      {"virtual_time", comparison.virtual_time},
      {"epochs", comparison.epochs},
      {"equal", comparison.budget().high > 0 ? "seconds" : "epochs"},
      {"seconds", spread_json(comparison.budget())},
      {"reference", comparison.reference.empty() ? Json(nullptr) : Json(comparison.reference)},
      {"interrupted", comparison.interrupted},
      {"notes", comparison_notes(comparison)},
      {"recommended", sure ? Json(verdict.best->strategy) : Json(nullptr)},
      {"ahead_with_one_seed",
       verdict.best != nullptr && verdict.one_seed ? Json(verdict.best->strategy) : Json(nullptr)},
      {"too_close_to_call", std::move(close)},
      {"staleness_bounds", kStalenessBounds}};
  for (const auto& strategy : comparison.strategies) {
    const auto distance = strategy.distance();
    Json entry{{"strategy", strategy.strategy},
               {"learning_rate", strategy.learning_rate},
               {"reached", strategy.reached()},
               {"time_to_target", spread_json(strategy.time_to_target())},
               {"final_quality", spread_json(strategy.final_quality())},
               {"samples_per_second", spread_json(strategy.samples_per_second())},
               {"epochs", spread_json(strategy.epochs())},
               {"exchanges_are",
                strategy.exchanges_are.empty() ? Json(nullptr) : Json(strategy.exchanges_are)},
               {"bytes", spread_json(strategy.bytes())},
               {"exchanges", spread_json(strategy.exchanges())},
               {"replica_distance", distance ? spread_json(*distance) : Json(nullptr)}};
    for (const auto& [rate, best] : strategy.tuning) {
      entry["tuning"].push_back({{"learning_rate", rate}, {"best", number(best)}});
    }
    for (const auto& run : strategy.runs) entry["runs"].push_back(run_json(run));
    result["strategies"].push_back(std::move(entry));
  }
  return result.dump(1) + "\n";
}

std::string comparison_csv(const Comparison& comparison) {
  std::string text = "strategy,learning_rate,seed,epoch,seconds," + comparison.metric +
                     ",train_loss,bytes,exchanges,exchanges_are,replica_distance\n";
  for (const auto& strategy : comparison.strategies) {
    for (const auto& run : strategy.runs) {
      for (const auto& point : run.curve) {
        text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", strategy.strategy,
                            strategy.learning_rate, run.seed, point.epoch, point.seconds,
                            point.quality, point.train_loss, point.communication.bytes,
                            point.communication.exchanges, strategy.exchanges_are,
                            point.distance ? fmt::format("{}", *point.distance) : "");
      }
    }
  }
  return text;
}

}  // namespace evener
