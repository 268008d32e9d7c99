// Emulates a slower device.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "evener/core/time.h"

namespace evener {

/// Sleeps for the rest of the time that work of `seconds` takes at `speed`, a share of the real
/// speed. Does not sleep at full speed, which is 1. Calls goes_on() several times a second, and
/// wakes up where it returns false.
template <class F>
void sleep_for_speed(Seconds seconds, double speed, F goes_on) {
  if (speed >= 1) return;
  constexpr Seconds kMost = 0.1;
  const Seconds length = seconds * (1 / speed - 1);
  const Stopwatch slept;
  for (Seconds rest = length; rest > 0 && goes_on(); rest = length - slept.elapsed()) {
    std::this_thread::sleep_for(std::chrono::duration<Seconds>(std::min(rest, kMost)));
  }
}

}  // namespace evener
