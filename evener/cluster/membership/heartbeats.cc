#include "evener/cluster/membership/heartbeats.h"

#include <utility>

namespace evener {

bool Heartbeats::heard(int member, Seconds now) {
  Member& record = members_[member];
  record.last = now;
  return std::exchange(record.suspect, false);
}

std::vector<Heartbeats::Change> Heartbeats::check(Seconds now) {
  std::vector<Change> changes;
  for (auto at = members_.begin(); at != members_.end();) {
    auto& [member, record] = *at;
    const Seconds silence = now - record.last;
    if (silence >= limits_.evict) {
      changes.push_back({member, Verdict::evicted});
      at = members_.erase(at);
      continue;
    }
    if (silence >= limits_.suspect && !record.suspect) {
      record.suspect = true;
      changes.push_back({member, Verdict::suspected});
    }
    ++at;
  }
  return changes;
}

}  // namespace evener
