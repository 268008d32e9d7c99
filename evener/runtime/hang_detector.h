// Finds workers of this process whose step hangs: it makes no progress for --stall-timeout, or does
// not end after the run was interrupted. The caller passes in the time and the workers' counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evener/core/seconds.h"
#include "evener/runtime/stall_limits.h"

namespace evener {

struct HangLimits {
  StallLimits stall;
  /// How long a step may take after an interruption; at least twice as long as the worker's longest
  /// step, because slow steps are worth waiting for.
  Seconds grace = 0.5;
};

class HangDetector {
 public:
  /// The time between two looks; a longer one counts as this. The whole process may have been
  /// stopped, or the caller was busy.
  static constexpr Seconds kMostPause = 0.2;

  HangDetector(const HangLimits& limits, std::size_t workers)
      : limits_(limits), workers_(workers) {}

  /// Call it several times a second, and then `look` for each worker.
  void advance(Seconds now, bool interrupted);
  /// `count`: the value of the worker's StepCounter. Returns why it hangs; empty: it does not.
  std::string look(std::size_t worker, std::uint64_t count);

  bool interrupted() const { return interrupted_at_.has_value(); }

 private:
  struct Worker {
    std::uint64_t count = 0;
    Seconds since = 0;  // when the count changed
    Seconds longest = 0;
  };

  HangLimits limits_;
  std::vector<Worker> workers_;
  std::optional<Seconds> last_;  // call of `advance`
  Seconds watched_ = 0;          // time that counts, since the start
  std::optional<Seconds> interrupted_at_;
};

}  // namespace evener
