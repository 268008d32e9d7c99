#include "evener/run/compare/comparison_notes.h"

#include <algorithm>

#include <fmt/format.h>

#include "evener/core/counted.h"

namespace evener {

namespace {

std::string range_of(const MedianRange& range) {
  const auto text = [](double seconds) { return fmt::format("{:.3g} s", seconds); };
  return text(range.low) == text(range.high)
             ? text(range.median)
             : fmt::format("{} ({} to {} by seed)", text(range.median), text(range.low),
                           text(range.high));
}

std::string first_evaluation_note(const Comparison& comparison) {
  std::string runs;
  for (const auto& strategy : comparison.strategies) {
    const auto count = std::count_if(strategy.runs.begin(), strategy.runs.end(),
                                     [](const ComparedRun& run) { return run.reached_at_first; });
    if (count == 0) continue;
    runs += fmt::format("{}{} of {} of {}", runs.empty() ? "" : ", ", count,
                        counted(strategy.runs.size(), "run"), strategy.strategy);
  }
  if (runs.empty()) return "";
  return "reached the target at the first evaluation or before it: " + runs +
         "; a higher --target or more --evaluations-per-epoch would tell when";
}

/// Choices of auto and lost devices. Usually all runs have the same.
void add_run_notes(const ComparedStrategy& strategy, std::vector<std::string>& notes) {
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> seeds_of;
  for (const ComparedRun& run : strategy.runs) {
    for (const auto& note : run.notes) {
      // Measured rates differ from run to run; the page has those of the devices.
      if (note.starts_with("measured ")) continue;
      const auto found = std::find_if(seeds_of.begin(), seeds_of.end(),
                                      [&](const auto& entry) { return entry.first == note; });
      if (found == seeds_of.end()) {
        seeds_of.push_back({note, {run.seed}});
      } else {
        found->second.push_back(run.seed);
      }
    }
  }
  constexpr std::size_t kMost = 5;
  for (std::size_t i = 0; i < std::min(seeds_of.size(), kMost); ++i) {
    const auto& [note, seeds] = seeds_of[i];
    const bool all = seeds.size() == strategy.runs.size();
    notes.push_back(strategy.strategy +
                    (all ? "" : fmt::format(" (seed {})", fmt::join(seeds, ", "))) + ": " + note);
  }
  if (seeds_of.size() > kMost) {
    notes.push_back(fmt::format("{}: {} more notes are in comparison.json", strategy.strategy,
                                seeds_of.size() - kMost));
  }
}

}  // namespace

std::string budget_text(const Comparison& comparison) {
  const MedianRange budget = comparison.budget();
  const std::string epochs = counted(comparison.epochs, "epoch");
  if (budget.high == 0) return "every run trained for " + epochs;
  std::string text = "every run trained for " + range_of(budget);
  if (comparison.virtual_time) text += " of virtual time";
  if (comparison.reference.empty()) return text;
  return text + fmt::format(": what {} needs for {}", comparison.reference, epochs);
}

std::vector<std::string> comparison_notes(const Comparison& comparison) {
  std::vector<std::string> notes;
  if (auto note = first_evaluation_note(comparison); !note.empty()) notes.push_back(note);
  for (const auto& strategy : comparison.strategies) {
    add_run_notes(strategy, notes);
    const bool tried = std::any_of(strategy.runs.begin(), strategy.runs.end(),
                                   [](const auto& run) { return run.trial_seconds > 0; });
    if (tried) {
      const ComparedRun& run = strategy.runs.front();
      notes.push_back(fmt::format("{}: its trials of devices took {:.3g} s of its {:.3g} s",
                                  strategy.strategy, run.trial_seconds, run.seconds));
    }
  }
  return notes;
}

}  // namespace evener
