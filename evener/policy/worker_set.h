// The workers of a policy: which are present and which are busy.
#pragma once

#include <algorithm>
#include <vector>

#include "evener/policy/policy.h"

namespace evener {

struct WorkerSetMember {
  WorkerTraits traits;
  bool present = false;
  bool busy = false;
};

class WorkerSet {
 public:
  void join(const Joined& event) {
    const auto index = static_cast<std::size_t>(event.worker);
    if (members_.size() <= index) members_.resize(index + 1);
    members_[index] = {event.traits, true, false};
  }
  void lose(int worker) { at(worker).present = at(worker).busy = false; }

  WorkerSetMember& at(int worker) { return members_.at(static_cast<std::size_t>(worker)); }
  const WorkerSetMember& at(int worker) const {
    return members_.at(static_cast<std::size_t>(worker));
  }
  int size() const { return static_cast<int>(members_.size()); }
  bool idle() const {
    return std::none_of(members_.begin(), members_.end(), [](const auto& m) { return m.busy; });
  }
  /// Indices of those present, ascending.
  std::vector<int> present() const {
    std::vector<int> workers;
    for (int i = 0; i < size(); ++i) {
      if (at(i).present) workers.push_back(i);
    }
    return workers;
  }

  /// Indices of present workers that are idle, ascending.
  std::vector<int> idle_workers() const {
    std::vector<int> workers = present();
    std::erase_if(workers, [&](int worker) { return at(worker).busy; });
    return workers;
  }

  /// Marks the worker busy and keeps its batch within its memory.
  Assign assign(int worker, std::size_t rows, Work work, double rate = 1, int parts = 1) {
    WorkerSetMember& member = at(worker);
    member.busy = true;
    const std::size_t most = member.traits.most_rows;
    const bool cut = most > 0 && rows > most;
    return {worker, std::max<std::size_t>(cut ? most : rows, 1), parts, rate, work, cut ? rows : 0};
  }

 private:
  std::vector<WorkerSetMember> members_;
};

}  // namespace evener
