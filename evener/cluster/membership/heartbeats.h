// When each member was heard last, and which members are suspected or evicted for their silence.
// The caller passes the time in.
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

  /// Returns whether the member was suspected until now. A member that is new is watched from now.
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
