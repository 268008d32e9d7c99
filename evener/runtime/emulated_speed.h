// Emulates a slower device.
#pragma once

#include <chrono>
#include <thread>

#include "evener/core/seconds.h"

namespace evener {

/// Sleeps for the rest of the time that work of `seconds` takes at `speed`, a share of the real
/// speed. Does not sleep at full speed, which is 1.
inline void sleep_for_speed(Seconds seconds, double speed) {
  if (speed >= 1) return;
  std::this_thread::sleep_for(std::chrono::duration<Seconds>(seconds * (1 / speed - 1)));
}

}  // namespace evener
