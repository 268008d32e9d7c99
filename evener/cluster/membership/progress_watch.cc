#include "evener/cluster/membership/progress_watch.h"

#include <algorithm>

namespace evener {

void ProgressWatch::restart(int member, Seconds now) {
  members_[member] = {};
  members_[member].last = now;
}

void ProgressWatch::heartbeat(int member, std::uint64_t progress, Seconds now) {
  const auto found = members_.find(member);
  if (found == members_.end() || found->second.progress == progress) return;
  found->second.progress = progress;
  advance(member, now);
}

void ProgressWatch::advance(int member, Seconds now) {
  const auto found = members_.find(member);
  if (found == members_.end()) return;
  found->second.longest = std::max(found->second.longest, now - found->second.last);
  found->second.last = now;
}

void ProgressWatch::complete(int member, Seconds now) {
  advance(member, now);
  const auto found = members_.find(member);
  if (found != members_.end()) found->second.measured = true;
}

std::vector<ProgressWatch::Stalled> ProgressWatch::check(Seconds now) {
  std::vector<Stalled> stalled;
  std::erase_if(members_, [&](const auto& entry) {
    const auto& [member, record] = entry;
    const Seconds pause = now - record.last;
    if (pause < limits_.limit(record.longest, record.measured)) return false;
    stalled.push_back({member, pause});
    return true;
  });
  return stalled;
}

}  // namespace evener
