// The rows of one epoch: cut into batches, given back by workers that are lost, each trained
// exactly once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "evener/runtime/plan.h"

namespace evener {

/// Rows that go to one step.
struct Slice {
  std::span<const std::uint32_t> rows;
  std::size_t nominal = 0;  // what the policy counts: as asked for, or less at the end
  int losses = 0;           // how often it was lost with a worker
};

class EpochRows {
 public:
  /// From place `next_row` of the epoch's order on.
  EpochRows(const EpochPlan& plan, std::uint64_t epoch, std::size_t next_row);

  /// The next batch, or nothing if none is left. Rows that came back go first, as they were cut.
  std::optional<Slice> cut(std::size_t size);
  /// What `cut` would give.
  std::optional<Slice> peek(std::size_t size) const;
  /// Only what came back: for a run that is about to pause.
  std::optional<Slice> cut_returned();
  /// Lost with a worker. Error if it was lost `most` times before: then it is not the worker's
  /// fault.
  void give_back(const Slice& slice, int most);
  /// Trained in vain, however often.
  void put_back(const Slice& slice) { returned_.push_back(slice); }

  std::size_t next_row() const { return next_; }
  bool exhausted() const { return next_ == order_.size() && returned_.empty(); }
  bool has_returned() const { return !returned_.empty(); }
  /// Place in the epoch, 0 .. 1.
  double share() const { return static_cast<double>(next_) / static_cast<double>(order_.size()); }

 private:
  const EpochPlan& plan_;
  std::vector<std::uint32_t> order_;
  std::size_t next_;
  std::deque<Slice> returned_;
};

}  // namespace evener
