// Durations are seconds in double precision everywhere, real and virtual.
#pragma once

#include <chrono>

namespace evener {

using Seconds = double;

class Stopwatch {
 public:
  Seconds elapsed() const {
    return std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace evener
