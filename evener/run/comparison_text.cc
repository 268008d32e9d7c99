// A comparison on the terminal and for other programs.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "evener/core/counted.h"
#include "evener/run/compare.h"
#include "evener/run/evaluate.h"

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

/// JSON has no infinity: what never happened is null.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json spread_json(const Spread& spread) {
  return {{"median", number(spread.median)},
          {"low", number(spread.low)},
          {"high", number(spread.high)}};
}

Json run_json(const ComparedRun& run) {
  Json json{
      {"seed", run.seed},
      {"seconds_to_target", run.seconds_to_target ? Json(*run.seconds_to_target) : Json(nullptr)},
      {"best", number(run.best_quality)},
      {"final", number(run.final_quality)},
      {"seconds", run.seconds},
      {"samples_per_second", run.samples_per_second},
      {"diverged", run.diverged}};
  for (const auto& point : run.curve) {
    json["curve"].push_back({{"epoch", point.epoch},
                             {"seconds", point.seconds},
                             {"quality", point.quality},
                             {"train_loss", point.train_loss}});
  }
  for (std::size_t i = 0; i < run.workers.size(); ++i) {
    const WorkerResult& worker = run.workers[i];
    Json entry{{"name", worker.name},          {"updates", worker.updates},
               {"rows", worker.rows},          {"last_batch", worker.batch},
               {"compute", worker.compute},    {"transfer", worker.transfer},
               {"staleness", worker.staleness}};
    for (const auto& point : run.series[i]) {
      entry["series"].push_back({{"seconds", point.seconds},
                                 {"batch", point.batch},
                                 {"updates", point.updates},
                                 {"compute", point.compute},
                                 {"transfer", point.transfer}});
    }
    json["workers"].push_back(std::move(entry));
  }
  return json;
}

/// "12k/3k updates, batch 256/64, busy 98/97 %", of the first run.
std::string workers_text(const ComparedRun& run) {
  std::string updates, batches, busy;
  double staleness = 0;
  for (const auto& worker : run.workers) {
    const char* slash = updates.empty() ? "" : "/";
    updates += fmt::format("{}{}", slash, worker.updates);
    batches += fmt::format("{}{}", slash, worker.batch);
    busy += fmt::format("{}{:.0f}", slash, 100 * (worker.compute + worker.transfer));
    staleness = std::max(staleness, worker.staleness);
  }
  return fmt::format("updates {}, last batch {}, busy {} %, staleness {:.1f}", updates, batches,
                     busy, staleness);
}

std::string verdict_text(const Verdict& verdict) {
  if (verdict.best == nullptr) return "none can be recommended: no strategy came to a result\n";
  if (!verdict.too_close) {
    return fmt::format("recommended here: --strategy {}\n", verdict.best->strategy);
  }
  return fmt::format(
      "too close to call: the {} of {} and {} overlap from seed to seed; the first has the better "
      "median, and more --seeds may tell\n",
      verdict.by_time ? "times" : "final qualities", verdict.best->strategy,
      verdict.next->strategy);
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  const auto quality = [&](double value) { return metric_text(comparison.metric, value); };
  std::size_t width = 8;
  for (const auto& strategy : comparison.strategies) {
    width = std::max(width, strategy.strategy.size());
  }
  std::string text = fmt::format("devices: {}{}\n", fmt::join(comparison.devices, " + "),
                                 comparison.virtual_time ? " (virtual time)" : "");
  text += fmt::format("time to {} {} in seconds, median (least..most) over {}\n\n",
                      metric_title(comparison.metric), quality(comparison.target),
                      counted(comparison.strategies.front().runs.size(), "seed"));
  text += fmt::format("{:<{}}  {:>24}  {:>7}  {:>22}  {:>10}  {:>9}\n", "strategy", width,
                      "time to target", "reached", "final " + metric_title(comparison.metric),
                      "rows/s", "lr");
  for (const auto& s : comparison.strategies) {
    const Spread time = s.time_to_target(), final = s.final_quality();
    text += fmt::format(
        "{:<{}}  {:>24}  {:>7}  {:>22}  {:>10.0f}  {:>9.4g}\n", s.strategy, width,
        spread_text(seconds_text(time.median), seconds_text(time.low), seconds_text(time.high)),
        fmt::format("{}/{}", s.reached(), s.runs.size()),
        spread_text(quality(final.median), quality(final.low), quality(final.high)),
        s.samples_per_second().median, s.learning_rate);
  }
  text += '\n';
  for (const auto& s : comparison.strategies) {
    text += fmt::format("{:<{}}  {}\n", s.strategy, width, workers_text(s.runs.front()));
  }
  if (comparison.strategies.size() == 1) return text;
  return text + "\n" + verdict_text(comparison.verdict());
}

std::string comparison_json(const Comparison& comparison) {
  const Verdict verdict = comparison.verdict();
  const bool sure = verdict.best != nullptr && !verdict.too_close;
  Json close = Json::array();
  if (verdict.too_close) close = {verdict.best->strategy, verdict.next->strategy};
  Json json{{"data", comparison.data},
            {"metric", comparison.metric},
            {"target", comparison.target},
            {"devices", comparison.devices},
            {"virtual_time", comparison.virtual_time},
            {"epochs", comparison.epochs},
            {"recommended", sure ? Json(verdict.best->strategy) : Json(nullptr)},
            {"too_close_to_call", std::move(close)}};
  for (const auto& strategy : comparison.strategies) {
    Json entry{{"strategy", strategy.strategy},
               {"learning_rate", strategy.learning_rate},
               {"reached", strategy.reached()},
               {"time_to_target", spread_json(strategy.time_to_target())},
               {"final_quality", spread_json(strategy.final_quality())},
               {"samples_per_second", spread_json(strategy.samples_per_second())}};
    for (const auto& [rate, best] : strategy.tuning) {
      entry["tuning"].push_back({{"learning_rate", rate}, {"best", number(best)}});
    }
    for (const auto& run : strategy.runs) entry["runs"].push_back(run_json(run));
    json["strategies"].push_back(std::move(entry));
  }
  return json.dump(1) + "\n";
}

std::string comparison_csv(const Comparison& comparison) {
  std::string text =
      "strategy,learning_rate,seed,epoch,seconds," + comparison.metric + ",train_loss\n";
  for (const auto& strategy : comparison.strategies) {
    for (const auto& run : strategy.runs) {
      for (const auto& point : run.curve) {
        text += fmt::format("{},{},{},{},{},{},{}\n", strategy.strategy, strategy.learning_rate,
                            run.seed, point.epoch, point.seconds, point.quality, point.train_loss);
      }
    }
  }
  return text;
}

}  // namespace evener
