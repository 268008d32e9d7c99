#include "evener/run/devices/device_trials.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "evener/policy/batch_pieces.h"

namespace evener {

namespace {

using DeviceIndices = std::vector<std::size_t>;

// Several devices must be this many times as fast as the best device alone: less is noise.
constexpr double kWorth = 1.05;
// Averaged replicas may learn less from a row (docs/results/defaults.md), so they must be much
// faster. Merges take this share of their time (adaptive-sgd, merge-share).
constexpr double kAveragingWorth = 2;
constexpr double kMergeShare = 0.1;
constexpr double kNear = 0.5;  // share of the fastest device's speed
constexpr std::size_t kUntimed = 2, kTimed = 3;

Trial look_at(DeviceIndices devices) {
  return {std::move(devices), 0, 1};
}
Trial watch(DeviceIndices devices) {
  return {std::move(devices), kUntimed, kTimed};
}

/// Replays the plan from its beginning each time: looks up the outcomes of past trials; the first
/// trial without an outcome is the next one.
class DeviceTrials {
 public:
  DeviceTrials(const TrialSetting& setting, const std::vector<Tried>& history)
      : setting_(setting), history_(history), alone_(setting.names.size()) {}

  std::variant<Trial, DeviceChoice> next() {
    DeviceIndices devices = never_failed();
    if (devices.size() < 2) return decide(devices);
    if (!look(devices)) return *wanted_;
    if (devices.size() < 2) return decide(devices);
    if (!find_fastest_group(devices)) return *wanted_;
    for (const std::size_t candidate : candidates_) {
      const Outcome* outcome = ask(watch({candidate}));
      if (outcome == nullptr) return *wanted_;
      alone_[candidate] = outcome->rate;
      note({candidate}, outcome->rate);
    }
    return decide(devices);
  }

 private:
  /// The outcome of a trial; null: this trial is next.
  const Outcome* ask(Trial trial) {
    const auto found = std::find_if(history_.begin(), history_.end(),
                                    [&](const Tried& tried) { return tried.trial == trial; });
    if (found != history_.end()) return &found->outcome;
    wanted_ = std::move(trial);
    return nullptr;
  }

  /// A failed device is left out of the plan, as if it did not exist.
  DeviceIndices never_failed() {
    std::vector<bool> failed(setting_.names.size());
    for (const auto& [trial, outcome] : history_) {
      seconds_ += outcome.seconds;
      for (std::size_t i = 0; i < trial.devices.size(); ++i) {
        if (outcome.speeds[i] == 0) failed[trial.devices[i]] = true;
      }
    }
    DeviceIndices devices;
    for (std::size_t i = 0; i < failed.size(); ++i) {
      if (!failed[i]) devices.push_back(i);
    }
    return devices;
  }

  /// Keeps the devices for a longer trial: those that need no longer for a piece than another
  /// device for the whole batch. So an accelerator's fixed cost per step, and the first access to
  /// memory, do not exclude a device.
  bool look(DeviceIndices& devices) {
    const Outcome* outcome = ask(look_at(devices));
    if (outcome == nullptr) return false;
    const auto& speeds = outcome->speeds;
    const double fastest = *std::max_element(speeds.begin(), speeds.end());
    const auto batch = static_cast<double>(setting_.batch);
    const auto piece = static_cast<double>(split_into_pieces(setting_.batch, devices.size()).rows);
    DeviceIndices worth;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (piece / speeds[i] <= batch / fastest + setting_.cold) worth.push_back(devices[i]);
    }
    if (worth.size() < devices.size()) {
      for (std::size_t i = 0; i < devices.size(); ++i)
        note({devices[i]}, speeds[i], " with small pieces");
    }
    devices = std::move(worth);
    return true;
  }

  /// Keeps the fastest group of devices, and finds the devices that may be faster alone.
  bool find_fastest_group(DeviceIndices& devices) {
    const Outcome* outcome = ask(watch(devices));
    if (outcome == nullptr) return false;
    rate_ = outcome->rate;
    note(devices, rate_);
    const auto& speeds = outcome->speeds;
    averaged_ = {devices, std::accumulate(speeds.begin(), speeds.end(), 0.0) / (1 + kMergeShare)};
    const double fastest = *std::max_element(outcome->speeds.begin(), outcome->speeds.end());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (outcome->speeds[i] >= kNear * fastest) candidates_.push_back(devices[i]);
    }
    while (devices.size() > 2) {
      const auto slowest = std::min_element(outcome->speeds.begin(), outcome->speeds.end());
      DeviceIndices fewer = devices;
      fewer.erase(fewer.begin() + (slowest - outcome->speeds.begin()));
      outcome = ask(watch(fewer));
      if (outcome == nullptr) return false;
      note(fewer, outcome->rate);
      if (outcome->rate < rate_) break;
      rate_ = outcome->rate;
      devices = std::move(fewer);
    }
    return true;
  }

  std::string names(const DeviceIndices& devices) const {
    std::string text;
    for (const std::size_t i : devices) text += (text.empty() ? "" : " + ") + setting_.names[i];
    return text;
  }
  void note(const DeviceIndices& devices, double rate, const char* how = "") {
    if (rate == 0) return;
    seen_ +=
        fmt::format("{}{} {:.0f} rows/s{}", seen_.empty() ? "" : "; ", names(devices), rate, how);
  }

  DeviceChoice decide(DeviceIndices together) const {
    DeviceChoice choice;
    const auto fastest = std::max_element(alone_.begin(), alone_.end());
    if (together.size() > 1 && averaged_.rate >= kAveragingWorth * std::max(rate_, *fastest)) {
      return decide_averaging();
    }
    const bool several = together.size() > 1 && rate_ >= kWorth * *fastest;
    const bool one = together.size() > 1 && !several;
    choice.devices = one ? DeviceIndices{static_cast<std::size_t>(fastest - alone_.begin())}
                         : std::move(together);
    choice.strategy = watch(choice.devices).strategy();
    say_what_was_seen(choice);
    if (choice.devices.size() == setting_.names.size()) {
      choice.notes.emplace_back("decided: all devices train");
      return choice;
    }
    DeviceIndices left_out;
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

  DeviceChoice decide_averaging() const {
    DeviceChoice choice{averaged_.devices, automatic_strategy(AutoFor::dear_exchanges), {}};
    say_what_was_seen(choice);
    choice.notes.push_back(fmt::format(
        "decided: {} train replicas that are averaged ({}): without an exchange in every update "
        "they are expected to do {:.0f} rows/s",
        names(choice.devices), choice.strategy, averaged_.rate));
    return choice;
  }
  void say_what_was_seen(DeviceChoice& choice) const {
    if (seen_.empty()) return;
    choice.notes.push_back(
        fmt::format("measured in the first {:.2g} s of training: {}", seconds_, seen_));
  }

  struct Averaged {
    DeviceIndices devices;
    double rate = 0;  // rows per second, predicted
  };

  const TrialSetting& setting_;
  const std::vector<Tried>& history_;
  std::optional<Trial> wanted_;
  DeviceIndices candidates_;   // that may be the fastest alone
  std::vector<double> alone_;  // rows per second; 0: not tried
  double rate_ = 0;            // of the fastest group
  Averaged averaged_;          // of the group that was tried first
  std::string seen_;
  Seconds seconds_ = 0;
};

}  // namespace

std::variant<Trial, DeviceChoice> after_trials(const TrialSetting& setting,
                                               const std::vector<Tried>& history) {
  return DeviceTrials(setting, history).next();
}

}  // namespace evener
