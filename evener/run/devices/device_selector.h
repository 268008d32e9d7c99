// The engine of a run. Under --strategy auto the run's first batches are trials that find the best
// devices (run/devices/device_trials.h): the model moves from engine to engine, and every batch is
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
  /// Without trials the engine stays what the setup says.
  DeviceSelector(EngineSetup setup, bool tries);

  /// As Scheduler's.
  bool run_epoch(Position& position, const std::function<bool(const StepReport&)>& after_step);

  /// May be another one after each run_epoch, until it is decided.
  Engine& engine() { return *engine_; }
  const Engine& engine() const { return *engine_; }
  bool decided() const { return !trial_; }
  /// What was decided; nothing when it was taken already.
  std::optional<DeviceChoice> take_choice() { return std::exchange(choice_, std::nullopt); }

  // As Engine's, over all engines so far.
  Seconds now() const { return before_ + engine_->now(); }
  Communication communication() const { return said_before_ + engine_->communication(); }
  std::vector<std::string> take_notes();
  std::vector<std::string> take_dropped_workers();

 private:
  /// The model as it was when a trial began, for the case that its device fails.
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
  std::vector<std::size_t> devices_;  // of the engine
  std::vector<FloatBuffer> vectors_;  // of the model while there is no engine
  Seconds before_ = 0;                // of earlier engines
  Communication said_before_;         // of earlier engines

  std::optional<Trial> trial_;        // in progress
  std::size_t reports_ = 0;           // of its steps
  Seconds seconds_ = 0;               // that it has taken
  bool timed_ = false;                // its timed part has begun
  std::size_t rows_ = 0;              // of its current part, timed or not
  Seconds part_begin_ = 0;            // of seconds_
  std::vector<WorkerTotals> totals_;  // when the part began
  std::optional<Copy> copy_;

  std::optional<DeviceChoice> choice_;
  std::vector<std::string> notes_, losses_;
};

/// The setup with these of its devices alone.
EngineSetup with_only(EngineSetup setup, const std::vector<std::size_t>& devices,
                      const std::string& strategy);

}  // namespace evener
