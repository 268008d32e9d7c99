// Finds members that send heartbeats but make no progress: their heartbeats come from a thread of
// their own, so a hung compute thread does not stop them. The caller passes the time in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "evener/core/time.h"
#include "evener/runtime/stall_limits.h"

namespace evener {

/// An idle member makes progress with every heartbeat that it receives; a busy one between two
/// steps or chunks.
class ProgressWatch {
 public:
  explicit ProgressWatch(const StallLimits& limits) : limits_(limits) {}

  /// A new member, or one that begins something else: its pauses so far do not count.
  void restart(int member, Seconds now);
  /// A heartbeat with the member's count of what it has done.
  void heartbeat(int member, std::uint64_t progress, Seconds now);
  /// A message that only a member that makes progress sends.
  void advance(int member, Seconds now);
  /// The member has completed a task.
  void complete(int member, Seconds now);
  void forget(int member) { members_.erase(member); }

  struct Stalled {
    int member;
    Seconds pause;
  };
  /// The members whose pause has reached its limit. They are forgotten.
  std::vector<Stalled> check(Seconds now);

 private:
  struct Member {
    std::optional<std::uint64_t> progress;  // of the last heartbeat
    Seconds last = 0;                       // when it made progress
    Seconds longest = 0;                    // pause
    bool measured = false;                  // it has completed a task
  };

  StallLimits limits_;
  std::map<int, Member> members_;
};

}  // namespace evener
