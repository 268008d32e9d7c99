// The engine of a run. Under --strategy auto the run's first batches are trials that choose the
// devices (run/devices/device_trials.h). The model moves from engine to engine, and every batch is
// trained once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evener/run/devices/device_trials.h"
#include "evener/runtime/engine.h"

namespace evener {

class DeviceSelector {
 public:
  /// Without trials, the engine uses all devices of the setup.
  DeviceSelector(EngineSetup setup, bool tries);

  /// As in Scheduler.
  bool run_epoch(Position& position, const std::function<bool(const StepReport&)>& after_step);

  /// May change after each run_epoch, until the devices are chosen.
  Engine& engine() { return *engine_; }
  const Engine& engine() const { return *engine_; }
  bool decided() const { return !trial_; }
  /// The choice, once; nullopt if there is none or it was taken already.
  std::optional<DeviceChoice> take_choice() { return std::exchange(choice_, std::nullopt); }

  /// When the devices were chosen, by now().
  Seconds chosen_at() const { return chosen_at_; }

  // As in Engine, over all engines so far.
  Seconds now() const { return earlier_seconds_ + engine_->now(); }
  Communication communication() const { return earlier_communication_ + engine_->communication(); }
  std::vector<std::string> take_notes();
  std::vector<std::string> take_dropped_workers();

 private:
  /// Saves the model at the start of a trial, in case its device fails.
  struct Copy {
    std::vector<FloatBuffer> vectors;
    Position position;
  };

  void advance();
  bool use(const std::vector<std::size_t>& devices, const std::string& strategy);
  void retire();
  void count(const StepReport& report);
  void begin_timing();
  bool is_over() const;
  std::vector<double> speeds() const;
  void end_trial(std::vector<double> speeds);
  void keep_copy(const Position& position);
  void recover(Position& position, const std::string& why);
  std::vector<double> probe(const std::vector<std::size_t>& devices);

  EngineSetup setup_;  // with all devices
  TrialSetting setting_;
  std::vector<Tried> history_;
  std::unique_ptr<Engine> engine_;
  std::vector<std::size_t> devices_;     // indices of the engine's devices
  std::vector<FloatBuffer> vectors_;     // the model while there is no engine
  Seconds earlier_seconds_ = 0;          // of earlier engines
  Communication earlier_communication_;  // of earlier engines

  std::optional<Trial> trial_;        // in progress
  std::size_t reports_ = 0;           // reports of steps in the trial
  Seconds seconds_ = 0;               // duration of the trial so far
  bool timed_ = false;                // the timed part has begun
  std::size_t rows_ = 0;              // in the current part, timed or not
  Seconds part_begin_ = 0;            // value of seconds_
  std::vector<WorkerTotals> totals_;  // at the start of the part
  std::optional<Copy> copy_;

  std::optional<DeviceChoice> choice_;
  Seconds chosen_at_ = 0;
  std::vector<std::string> notes_, losses_;
};

/// The setup reduced to these devices.
EngineSetup with_only(EngineSetup setup, const std::vector<std::size_t>& devices,
                      const std::string& strategy);

}  // namespace evener
