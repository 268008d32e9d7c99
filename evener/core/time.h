// The clock.
#pragma once

#include <chrono>

#include "evener/core/seconds.h"

namespace evener {

class Stopwatch {
 public:
  Seconds elapsed() const {
    return std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace evener
