// The timeline records every task and merge of a run, with totals per worker: for traces,
// utilization and batch sizes over time. The scheduler writes it; reports read it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "evener/core/time.h"
#include "evener/runtime/task.h"

namespace evener {

struct TimelineEntry {
  int worker = -1;  // -1: a merge over all workers
  Work work = Work::local;
  std::size_t rows = 0;   // of the task
  std::size_t batch = 0;  // rows of one step
  std::size_t steps = 0;
  std::uint64_t staleness = 0;  // updates of the shared model between assignment and end
  Seconds begin = 0, end = 0, transfer = 0;
};

/// Bounds of a histogram of staleness: the number of updates by others between a task's start and
/// its end. The last count is of tasks above the last bound.
inline constexpr std::array<std::uint64_t, 7> kStalenessBounds{0, 1, 2, 4, 8, 16, 32};
using StalenessCounts = std::array<std::uint64_t, kStalenessBounds.size() + 1>;

/// What one worker did in a run.
struct WorkerTotals {
  std::uint64_t tasks = 0, updates = 0, rows = 0;
  Seconds compute = 0, transfer = 0;
  std::uint64_t bytes = 0;      // of its pulls and pushes
  std::uint64_t rejected = 0;   // pushes that were rejected, offers that were declined
  std::uint64_t exchanges = 0;  // with gossip peers
  double staleness_sum = 0;     // over updates
  std::uint64_t staleness_max = 0;
  StalenessCounts staleness_counts{};
  std::size_t last_batch = 0, batch_before = 0;
  bool lost = false;         // it failed or left, and has not joined again
  bool was_present = false;  // at any time
};

class Timeline {
 public:
  explicit Timeline(std::vector<std::string> workers)
      : names_(std::move(workers)), totals_(names_.size()) {}

  void add_task(const Task& task, const TaskStats& stats, std::uint64_t staleness);
  void add_merge(Seconds begin, Seconds end);
  void set_lost(int worker, bool lost) {
    WorkerTotals& totals = totals_[static_cast<std::size_t>(worker)];
    totals.lost = lost;
    totals.was_present = totals.was_present || !lost;
  }
  void add_message(int worker, std::size_t bytes) {
    totals_[static_cast<std::size_t>(worker)].bytes += bytes;
  }
  /// A worker answers an offer. This counts the exchange for the run, and for this worker.
  void add_answer(int worker, std::size_t bytes) {
    add_message(worker, bytes);
    add_completed_exchange(worker);
    ++exchanges_;
  }
  /// A worker's model has moved by an exchange.
  void add_completed_exchange(int worker) { ++totals_[static_cast<std::size_t>(worker)].exchanges; }
  void add_reject(int worker) { ++totals_[static_cast<std::size_t>(worker)].rejected; }

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<WorkerTotals>& totals() const { return totals_; }
  const std::vector<TimelineEntry>& entries() const { return entries_; }
  std::uint64_t merges() const { return merges_; }
  /// Each is counted once, not once per peer.
  std::uint64_t exchanges() const { return exchanges_; }

  /// In the trace-event format that Perfetto and chrome://tracing open.
  std::string trace_json() const;

 private:
  void keep(const TimelineEntry& entry);

  std::vector<std::string> names_;
  std::vector<WorkerTotals> totals_;
  std::vector<TimelineEntry> entries_;
  std::uint64_t merges_ = 0, exchanges_ = 0;
};

}  // namespace evener
