// The scheduler's workers: they join, leave and fail. The rows of a worker that is lost go back to
// the epoch, and the policy receives an event.
#include <algorithm>

#include <fmt/format.h>

#include "evener/runtime/scheduler.h"

namespace evener {

namespace {

/// Workers of a cluster are lost for many reasons that have nothing to do with their batch.
constexpr int kMostLossesInCluster = 9;

/// Most errors of a device start with its name already, without the part that an emulation adds.
std::string blame(const std::string& name, const std::string& why) {
  const std::string device = name.substr(0, name.find(" (")) + ": ";
  return fmt::format("{}: {}", name, why.starts_with(device) ? why.substr(device.size()) : why);
}

}  // namespace

void Scheduler::join(int worker) {
  ++present_;
  known_ = std::max(known_, static_cast<std::size_t>(worker) + 1);
  status(worker).lost = false;
  timeline_.set_lost(worker, false);
  notify(Joined{worker, workers_[static_cast<std::size_t>(worker)]});
}

void Scheduler::update_membership() {
  const auto apply_change = [&](const MembershipChange& change) {
    WorkerTraits& traits = workers_[static_cast<std::size_t>(change.worker)];
    switch (change.kind) {
      case MembershipChange::Kind::joined:
        notes_.push_back(fmt::format("{} has joined", traits.name));
        traits.most_rows = change.most_rows;
        return join(change.worker);
      case MembershipChange::Kind::lost:
        return lose(change.worker, change.why);
      case MembershipChange::Kind::suspected:
        return notify(Suspected{change.worker, true, executor_.now()});
      case MembershipChange::Kind::trusted:
        return notify(Suspected{change.worker, false, executor_.now()});
    }
    throw Error("a worker changed in an unknown way");
  };
  while (const auto change = executor_.take_change()) apply_change(*change);
}

bool Scheduler::waits_for_workers() const {
  return present_ == 0 && executor_.waits_for_workers() && !pausing_ && !ledger_.exhausted();
}

void Scheduler::lose(int worker, const std::string& why) {
  models_.lose(worker);
  drop(worker, why, {});
}

void Scheduler::drop(int worker, const std::string& why, std::span<const Part> parts,
                     bool blameless) {
  const std::string reason = blame(workers_[static_cast<std::size_t>(worker)].name, why);
  timeline_.set_lost(worker, true);
  if (--present_ == 0 && !executor_.waits_for_workers()) throw DeviceError(reason);
  dropped_workers_.push_back(reason);
  const int most = executor_.waits_for_workers() ? kMostLossesInCluster : 1;
  const std::size_t nominal =
      ledger_.return_lost(worker, parts, blameless ? std::nullopt : std::optional(most));
  status(worker) = {.lost = true};
  notify(Lost{worker, nominal, executor_.now()});
}

void Scheduler::drop_failures() {
  for (auto& note : models_.take_notes()) notes_.push_back(std::move(note));
  for (const Failure& failure : models_.take_failures()) {
    if (status(failure.worker).lost) continue;
    if (failure.merged) ledger_.mark_merged(failure.worker);
    drop(failure.worker, failure.why, {});
  }
}

}  // namespace evener
