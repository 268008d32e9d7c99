#include "evener/run/device_trials.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>

namespace evener {

namespace {

// Several devices must be so many times as fast as the best alone: less is noise.
constexpr double kWorth = 1.05;
constexpr double kNear = 0.5;  // of the fastest in a gradient: perhaps faster in a step
// Steps that are not timed: memory is cold in the first, and parts find their size.
constexpr std::size_t kWarmUp = 2;
constexpr std::size_t kTimed = 3;
// A device that takes as long for this part of a batch as another for all of it is worth less.
constexpr double kGlance = 1 - 1 / kWorth;
constexpr double kCold = 3;     // so many times as long may a step take as the next
constexpr double kTouch = 5e8;  // bytes a second of memory that is touched for the first time

/// What a trial of some devices showed.
struct Outcome {
  double rate = 0;             // rows a second; 0: a device failed
  std::vector<double> speeds;  // of each device while all worked; 0: it failed
  std::vector<std::string> losses;
  Seconds seconds = 0;
};

class DeviceTrials {
 public:
  DeviceTrials(const EngineSetup& setup, const FloatBuffer& parameters)
      : setup_(setup), parameters_(parameters), names_(names_of(setup)), alone_(names_.size()) {}

  DeviceChoice choose() {
    std::vector<std::size_t> together = worth_a_trial();
    Outcome outcome;
    for (bool lost = true; lost && together.size() > 1;) {
      outcome = try_out(together, kTogether);
      lost = drop_lost(together, outcome.speeds);
    }
    if (together.size() < 2) {
      decide(together, 0, together.at(0), 0);
      return std::move(choice_);
    }
    const std::vector<std::size_t> candidates = candidates_of(together, outcome);
    double best = outcome.rate;
    note(together, best);
    while (together.size() > 2) {
      std::vector<std::size_t> fewer = without_slowest(together, outcome);
      outcome = try_out(fewer, kTogether);
      note(fewer, outcome.rate);
      if (outcome.rate < best) break;
      best = outcome.rate;
      together = std::move(fewer);
    }
    for (const std::size_t candidate : candidates) {
      if (alone_[candidate] == 0) rate_alone(candidate);
    }
    const auto fastest = std::max_element(alone_.begin(), alone_.end());
    decide(together, best, static_cast<std::size_t>(fastest - alone_.begin()), *fastest);
    return std::move(choice_);
  }

 private:
  /// Devices of one name are told apart by their place.
  static std::vector<std::string> names_of(const EngineSetup& setup) {
    std::vector<std::string> names;
    const std::size_t count =
        setup.virtual_time ? setup.virtual_time->devices.size() : setup.devices.size();
    for (std::size_t i = 0; i < count; ++i) {
      std::string name =
          setup.virtual_time ? setup.virtual_time->devices[i].name : setup.devices[i]->name();
      const bool taken = std::find(names.begin(), names.end(), name) != names.end();
      names.push_back(taken ? fmt::format("{} [{}]", name, i) : std::move(name));
    }
    return names;
  }
  std::string names(const std::vector<std::size_t>& who) const {
    std::string text;
    for (const std::size_t i : who) text += (text.empty() ? "" : " + ") + names_[i];
    return text;
  }

  /// A whole part for a device that is far slower than another would be the longest wait of all
  /// trials, so all begin with a small one. What a step costs an accelerator whatever its size is
  /// not held against it: what counts is whether a small part takes it longer than the whole batch
  /// takes another.
  std::vector<std::size_t> worth_a_trial() {
    std::vector<std::size_t> who(names_.size());
    std::iota(who.begin(), who.end(), 0);
    std::vector<double> glances(who.size());
    for (const std::size_t i : who) glances[i] = glance(i);
    drop_lost(who, glances);
    if (who.size() < 2) return who;
    // Whoever misses a mark by little gets another look.
    const auto look_again = [&](double mark) {
      for (std::size_t i = 0; i < who.size(); ++i) {
        if (glances[i] > mark || glances[i] * kCold < mark) continue;
        glances[i] = std::max(glances[i], glance(who[i]));
      }
    };
    look_again(*std::max_element(glances.begin(), glances.end()));
    const auto first = static_cast<std::size_t>(std::max_element(glances.begin(), glances.end()) -
                                                glances.begin());
    const double least = kGlance * rate_alone(who[first]);
    look_again(least);
    for (std::size_t i = 0; i < who.size(); ++i) {
      if (i == first || glances[i] >= least) continue;
      note({who[i]}, glances[i]);
      glances[i] = 0;
    }
    drop_lost(who, glances);
    return who;
  }
  /// Rows a second of a small step. The first of a replica touches memory that nobody has touched
  /// before and may take a hundred times as long as the next, so that one counts, unless the first
  /// took longer than that explains.
  double glance(std::size_t who) {
    EngineSetup small = setup_;
    small.batch = static_cast<std::size_t>(std::ceil(kGlance * static_cast<double>(setup_.batch)));
    small.batch_per_device = 0;
    const double first = try_out(small, {who}, "sequential", 0, 1).rate;
    const int vectors = 1 + state_vectors(setup_.training.optimizer);
    const Seconds cold = static_cast<double>(parameters_.size() * sizeof(float)) * vectors / kTouch;
    if (first * cold < static_cast<double>(small.batch)) return first;
    return std::max(first, try_out(small, {who}, "sequential", 1, 1).rate);
  }
  double rate_alone(std::size_t who) {
    alone_[who] = try_out({who}, "sequential").rate;
    note({who}, alone_[who]);
    return alone_[who];
  }

  Outcome try_out(const std::vector<std::size_t>& who, const std::string& strategy) {
    return try_out(setup_, who, strategy, kWarmUp, kTimed);
  }
  Outcome try_out(const EngineSetup& setup, const std::vector<std::size_t>& who,
                  const std::string& strategy, std::size_t untimed, std::size_t timed) {
    Outcome outcome;
    std::optional<Engine> made;
    try {
      made.emplace(with_only(setup, who, strategy));
    } catch (const DeviceError& error) {  // it has not the memory for this
      outcome.speeds.assign(who.size(), 0);
      choice_.notes.push_back(fmt::format("{}: left out: {}", names(who), error.what()));
      return outcome;
    }
    Engine& engine = *made;
    FloatBuffer parameters(parameters_.size());
    std::copy_n(parameters_.data(), parameters_.size(), parameters.data());
    engine.models().give(0, std::move(parameters));
    Position position;
    std::vector<WorkerTotals> before(who.size());
    try {
      run_steps(engine, position, untimed * setup.batch);
      before = engine.timeline().totals();
      const Seconds begin = engine.now();
      const std::size_t rows = run_steps(engine, position, timed * setup.batch);
      outcome.rate = static_cast<double>(rows) / std::max(engine.now() - begin, 1e-9);
    } catch (const DeviceError& error) {
      outcome.losses.emplace_back(error.what());
    }
    for (auto& loss : engine.take_losses()) outcome.losses.push_back(std::move(loss));
    if (!outcome.losses.empty()) outcome.rate = 0;
    for (std::size_t i = 0; i < who.size(); ++i) {
      const WorkerTotals& after = engine.timeline().totals()[i];
      const double speed = static_cast<double>(after.rows - before[i].rows) /
                           std::max(after.compute - before[i].compute, 1e-9);
      outcome.speeds.push_back(after.lost ? 0 : speed);
    }
    for (const auto& loss : outcome.losses) {
      choice_.notes.push_back("a device is lost, and training goes on without it: " + loss);
    }
    choice_.seconds += engine.now();
    return outcome;
  }

  /// So many rows and those that are under way then; how many that was.
  static std::size_t run_steps(Engine& engine, Position& position, std::size_t wanted) {
    std::size_t rows = 0;
    while (rows < wanted) {
      const bool whole = engine.run_epoch(position, [&](const StepReport& report) {
        rows += report.rows;
        return rows < wanted;
      });
      if (whole) position = {position.step, position.epoch + 1, 0, 0};
    }
    return rows;
  }

  /// Those whose speed is 0. Whether there were any.
  static bool drop_lost(std::vector<std::size_t>& who, std::vector<double>& speeds) {
    const std::size_t count = who.size();
    for (std::size_t i = count; i-- > 0;) {
      if (speeds[i] > 0) continue;
      who.erase(who.begin() + static_cast<std::ptrdiff_t>(i));
      speeds.erase(speeds.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (who.empty()) throw DeviceError("every device has failed");
    return who.size() < count;
  }
  /// Those that may be the fastest alone: a step of one's own is not the same work as a gradient.
  static std::vector<std::size_t> candidates_of(const std::vector<std::size_t>& who,
                                                const Outcome& outcome) {
    const double fastest = *std::max_element(outcome.speeds.begin(), outcome.speeds.end());
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < who.size(); ++i) {
      if (outcome.speeds[i] >= kNear * fastest) candidates.push_back(who[i]);
    }
    return candidates;
  }
  static std::vector<std::size_t> without_slowest(std::vector<std::size_t> who,
                                                  const Outcome& outcome) {
    const auto at = std::min_element(outcome.speeds.begin(), outcome.speeds.end());
    who.erase(who.begin() + (at - outcome.speeds.begin()));
    return who;
  }

  void note(const std::vector<std::size_t>& who, double rate) {
    if (rate > 0) {
      seen_ += fmt::format("{}{} {:.0f} rows/s", seen_.empty() ? "" : "; ", names(who), rate);
    }
  }

  void decide(std::vector<std::size_t> together, double rate, std::size_t fastest, double alone) {
    const bool several = together.size() > 1 && rate >= kWorth * alone;
    choice_.devices = several ? std::move(together) : std::vector{fastest};
    choice_.strategy = choice_.devices.size() > 1 ? kTogether : "sequential";
    if (!seen_.empty()) {
      choice_.notes.push_back(fmt::format("measured in {:.2g} s: {}", choice_.seconds, seen_));
    }
    if (choice_.devices.size() == names_.size()) {
      choice_.notes.emplace_back("decided: all devices train");
      return;
    }
    std::string left_out;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto& used = choice_.devices;
      if (std::find(used.begin(), used.end(), i) != used.end()) continue;
      left_out += (left_out.empty() ? "" : ", ") + names_[i];
    }
    choice_.notes.push_back(
        fmt::format("decided: {} {}; more devices must make the same updates {:g} times as fast, "
                    "and {} did not",
                    names(choice_.devices), choice_.devices.size() == 1 ? "trains alone" : "train",
                    kWorth, left_out));
  }

  const EngineSetup& setup_;
  const FloatBuffer& parameters_;
  std::vector<std::string> names_;
  std::vector<double> alone_;  // rows a second; 0: not tried
  std::string seen_;
  DeviceChoice choice_;
};

}  // namespace

DeviceChoice choose_devices(const EngineSetup& setup, const FloatBuffer& parameters) {
  return DeviceTrials(setup, parameters).choose();
}

EngineSetup with_only(EngineSetup setup, const std::vector<std::size_t>& devices,
                      const std::string& strategy) {
  const auto pick = [&](auto& list) {
    if (list.empty()) return;
    std::remove_reference_t<decltype(list)> kept;
    for (const std::size_t i : devices) kept.push_back(list.at(i));
    list = std::move(kept);
  };
  pick(setup.devices);
  pick(setup.speeds);
  if (setup.virtual_time) pick(setup.virtual_time->devices);
  setup.strategy = parse_strategy(strategy);
  return setup;
}

}  // namespace evener
