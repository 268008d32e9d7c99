#include "evener/run/devices/device_trials.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "evener/policy/batch_pieces.h"

namespace evener {

namespace {

using Who = std::vector<std::size_t>;

// Several devices must be so many times as fast as the best alone: less is noise.
constexpr double kWorth = 1.05;
constexpr double kNear = 0.5;  // of the fastest in a gradient: perhaps faster in a step
constexpr std::size_t kUntimed = 2, kTimed = 3;

Trial look_at(Who who) {
  return {std::move(who), 0, 1};
}
Trial watch(Who who) {
  return {std::move(who), kUntimed, kTimed};
}

/// Goes through the plan from its beginning each time: a trial of the past is answered at once, and
/// the first that is not there is what comes next.
class DeviceTrials {
 public:
  DeviceTrials(const TrialSetting& setting, const std::vector<Tried>& history)
      : setting_(setting), history_(history), alone_(setting.names.size()) {}

  std::variant<Trial, DeviceChoice> next() {
    Who who = never_failed();
    if (who.size() < 2) return decide(who);
    if (!look(who)) return *wanted_;
    if (who.size() < 2) return decide(who);
    if (!find_fastest_group(who)) return *wanted_;
    for (const std::size_t candidate : candidates_) {
      const Outcome* outcome = ask(watch({candidate}));
      if (outcome == nullptr) return *wanted_;
      alone_[candidate] = outcome->rate;
      note({candidate}, outcome->rate);
    }
    return decide(who);
  }

 private:
  /// The outcome of a trial; null: it is the one to make now.
  const Outcome* ask(Trial trial) {
    const auto found = std::find_if(history_.begin(), history_.end(),
                                    [&](const Tried& tried) { return tried.trial == trial; });
    if (found != history_.end()) return &found->outcome;
    wanted_ = std::move(trial);
    return nullptr;
  }

  /// Whoever failed is out of the plan, as if it had never been there.
  Who never_failed() {
    std::vector<bool> failed(setting_.names.size());
    for (const auto& [trial, outcome] : history_) {
      seconds_ += outcome.seconds;
      for (std::size_t i = 0; i < trial.devices.size(); ++i) {
        if (outcome.speeds[i] == 0) failed[trial.devices[i]] = true;
      }
    }
    Who who;
    for (std::size_t i = 0; i < failed.size(); ++i) {
      if (!failed[i]) who.push_back(i);
    }
    return who;
  }

  /// Leaves those that are worth a longer trial. What a step costs an accelerator whatever its size
  /// is not held against it, nor is memory that is touched for the first time: what counts is
  /// whether a piece takes it longer than the whole batch takes another.
  bool look(Who& who) {
    const Outcome* outcome = ask(look_at(who));
    if (outcome == nullptr) return false;
    const auto& speeds = outcome->speeds;
    const double fastest = *std::max_element(speeds.begin(), speeds.end());
    const auto batch = static_cast<double>(setting_.batch);
    const auto piece = static_cast<double>(split_into_pieces(setting_.batch, who.size()).rows);
    Who worth;
    for (std::size_t i = 0; i < who.size(); ++i) {
      if (piece / speeds[i] <= batch / fastest + setting_.cold) worth.push_back(who[i]);
    }
    if (worth.size() < who.size()) {
      for (std::size_t i = 0; i < who.size(); ++i) note({who[i]}, speeds[i], " with small pieces");
    }
    who = std::move(worth);
    return true;
  }

  /// Leaves those that are fastest together; how fast, and who may be faster alone.
  bool find_fastest_group(Who& who) {
    const Outcome* outcome = ask(watch(who));
    if (outcome == nullptr) return false;
    rate_ = outcome->rate;
    note(who, rate_);
    const double fastest = *std::max_element(outcome->speeds.begin(), outcome->speeds.end());
    for (std::size_t i = 0; i < who.size(); ++i) {
      if (outcome->speeds[i] >= kNear * fastest) candidates_.push_back(who[i]);
    }
    while (who.size() > 2) {
      const auto slowest = std::min_element(outcome->speeds.begin(), outcome->speeds.end());
      Who fewer = who;
      fewer.erase(fewer.begin() + (slowest - outcome->speeds.begin()));
      outcome = ask(watch(fewer));
      if (outcome == nullptr) return false;
      note(fewer, outcome->rate);
      if (outcome->rate < rate_) break;
      rate_ = outcome->rate;
      who = std::move(fewer);
    }
    return true;
  }

  std::string names(const Who& who) const {
    std::string text;
    for (const std::size_t i : who) text += (text.empty() ? "" : " + ") + setting_.names[i];
    return text;
  }
  void note(const Who& who, double rate, const char* how = "") {
    if (rate == 0) return;
    seen_ += fmt::format("{}{} {:.0f} rows/s{}", seen_.empty() ? "" : "; ", names(who), rate, how);
  }

  DeviceChoice decide(Who together) const {
    DeviceChoice choice;
    const auto fastest = std::max_element(alone_.begin(), alone_.end());
    const bool several = together.size() > 1 && rate_ >= kWorth * *fastest;
    const bool one = together.size() > 1 && !several;
    choice.devices =
        one ? Who{static_cast<std::size_t>(fastest - alone_.begin())} : std::move(together);
    choice.strategy = watch(choice.devices).strategy();
    if (!seen_.empty()) {
      choice.notes.push_back(
          fmt::format("measured in the first {:.2g} s of training: {}", seconds_, seen_));
    }
    if (choice.devices.size() == setting_.names.size()) {
      choice.notes.emplace_back("decided: all devices train");
      return choice;
    }
    Who left_out;
    for (std::size_t i = 0; i < setting_.names.size(); ++i) {
      const auto& used = choice.devices;
      if (std::find(used.begin(), used.end(), i) == used.end()) left_out.push_back(i);
    }
    choice.notes.push_back(
        fmt::format("decided: {} {}; more devices must make the same updates {:g} times as fast, "
                    "and {} did not",
                    names(choice.devices), choice.devices.size() == 1 ? "trains alone" : "train",
                    kWorth, names(left_out)));
    return choice;
  }

  const TrialSetting& setting_;
  const std::vector<Tried>& history_;
  std::optional<Trial> wanted_;
  Who candidates_;             // for the fastest alone
  std::vector<double> alone_;  // rows a second; 0: not tried
  double rate_ = 0;            // of the fastest group
  std::string seen_;
  Seconds seconds_ = 0;
};

}  // namespace

std::variant<Trial, DeviceChoice> after_trials(const TrialSetting& setting,
                                               const std::vector<Tried>& history) {
  return DeviceTrials(setting, history).next();
}

}  // namespace evener
