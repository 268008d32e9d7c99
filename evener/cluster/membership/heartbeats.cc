#include "evener/cluster/membership/heartbeats.h"

#include <utility>

namespace evener {

bool Heartbeats::heard(int node, Seconds now) {
  Node& record = nodes_[node];
  record.last = now;
  return std::exchange(record.suspect, false);
}

std::vector<Heartbeats::Change> Heartbeats::check(Seconds now) {
  std::vector<Change> changes;
  for (auto at = nodes_.begin(); at != nodes_.end();) {
    auto& [node, record] = *at;
    const Seconds silence = now - record.last;
    if (silence >= limits_.evict) {
      changes.push_back({node, Verdict::evicted});
      at = nodes_.erase(at);
      continue;
    }
    if (silence >= limits_.suspect && !record.suspect) {
      record.suspect = true;
      changes.push_back({node, Verdict::suspected});
    }
    ++at;
  }
  return changes;
}

Seconds Heartbeats::silence(int node, Seconds now) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? 0 : now - found->second.last;
}

}  // namespace evener
