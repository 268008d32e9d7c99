// Who was heard of when, and whom that makes a suspect or gone. Events in, verdicts out: the clock
// is the caller's.
#pragma once

#include <map>
#include <vector>

#include "evener/core/time.h"

namespace evener {

struct HeartbeatLimits {
  Seconds beat = 1;     // between two signs of life
  Seconds suspect = 3;  // of silence
  Seconds evict = 10;
};

class Heartbeats {
 public:
  explicit Heartbeats(const HeartbeatLimits& limits) : limits_(limits) {}

  enum class Verdict { suspected, trusted, evicted };
  struct Change {
    int node;
    Verdict verdict;
  };

  /// True: it was a suspect until now.
  bool heard(int node, Seconds now);
  void forget(int node) { nodes_.erase(node); }
  /// Of those whose silence has reached a limit since the last call; the evicted are forgotten.
  std::vector<Change> check(Seconds now);
  Seconds silence(int node, Seconds now) const;

 private:
  struct Node {
    Seconds last = 0;
    bool suspect = false;
  };
  HeartbeatLimits limits_;
  std::map<int, Node> nodes_;
};

}  // namespace evener
