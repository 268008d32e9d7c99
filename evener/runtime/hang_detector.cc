#include "evener/runtime/hang_detector.h"

#include <algorithm>

#include <fmt/format.h>

#include "evener/runtime/step_counter.h"

namespace evener {

void HangDetector::advance(Seconds now, bool interrupted) {
  if (last_) watched_ += std::clamp(now - *last_, 0.0, kMostPause);
  last_ = now;
  if (!interrupted) {
    interrupted_at_.reset();
  } else if (!interrupted_at_) {
    interrupted_at_ = watched_;
  }
}

std::string HangDetector::look(std::size_t index, std::uint64_t count) {
  Worker& worker = workers_[index];
  if (count != worker.count) {
    if (StepCounter::is_inside(worker.count)) {
      worker.longest = std::max(worker.longest, watched_ - worker.since);
    }
    worker.count = count;
    worker.since = watched_;
  }
  if (!StepCounter::is_inside(count)) return "";
  if (interrupted_at_) {
    const Seconds pause = watched_ - std::max(*interrupted_at_, worker.since);
    if (pause >= std::max(limits_.grace, 2 * worker.longest)) {
      return fmt::format("it hangs: its step has not ended {:.1f} s after the interruption", pause);
    }
  }
  const Seconds pause = watched_ - worker.since;
  constexpr std::uint64_t kOneTask = 2;
  if (pause < limits_.stall.limit(worker.longest, count > kOneTask)) return "";
  return fmt::format("it hangs: no progress for {:.0f} s (--stall-timeout)", pause);
}

}  // namespace evener
