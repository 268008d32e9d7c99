// What ends the waits of an executor that runs tasks in this process.
#pragma once

#include <functional>
#include <memory>

#include "evener/core/seconds.h"
#include "evener/runtime/hang_detector.h"
#include "evener/runtime/step_counter.h"

namespace evener {

struct Supervision {
  /// Not 0: this signal was received, and the run pauses. Called on the scheduler's thread; null:
  /// never.
  std::function<int()> interrupted;
  HangLimits limits;
  /// Counts the steps of a single worker, which run on the scheduler's thread; null: not counted.
  std::shared_ptr<MainSteps> main_steps;
  /// For tests; null: the real clock. Called on any thread.
  std::function<Seconds()> clock;

  bool is_interrupted() const { return interrupted && interrupted() != 0; }
};

}  // namespace evener
