// Records the time of each member's last message, and reports members whose silence has reached a
// limit as suspected or evicted. The caller passes the time in.
#pragma once

#include <map>
#include <vector>

#include "evener/core/time.h"

namespace evener {

struct HeartbeatLimits {
  Seconds beat = 1;     // between two heartbeats
  Seconds suspect = 3;  // of silence
  Seconds evict = 10;   // of silence
};

class Heartbeats {
 public:
  explicit Heartbeats(const HeartbeatLimits& limits) : limits_(limits) {}

  enum class Verdict { suspected, evicted };
  struct Change {
    int member;
    Verdict verdict;
  };

  /// Records a message. Returns whether the member was suspected until now. A new member is watched
  /// from now on.
  bool heard(int member, Seconds now);
  void forget(int member) { members_.erase(member); }
  /// The members whose silence has reached a limit since the last call. An evicted member is
  /// forgotten.
  std::vector<Change> check(Seconds now);

 private:
  struct Member {
    Seconds last = 0;
    bool suspect = false;
  };
  HeartbeatLimits limits_;
  std::map<int, Member> members_;
};

}  // namespace evener
