// The rows of one epoch: cut into batches, set aside for workers that can make them ready ahead,
// given back by workers that are lost, each trained exactly once.
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

  /// A worker's next batch, or nothing if none is left. Rows that came back go first, as they were
  /// cut; then what was set aside for the worker, if that is as large as is asked for now. What is
  /// set aside for others is taken when there is nothing else.
  std::optional<Slice> cut(int worker, std::size_t size);
  /// What `cut` would give a worker that is alone.
  std::optional<Slice> peek(std::size_t size) const;
  /// For a run that is about to pause, while there is something behind next_row(): a whole batch
  /// that begins with it. Small ones would be noise in the optimizer's state for long.
  std::optional<Slice> cut_behind(std::size_t size);

  /// Sets aside the batch that a worker will most likely ask for next. Nothing where rows that came
  /// back go first or no more are left.
  std::optional<Slice> set_aside(int worker, std::size_t size);
  /// What was set aside for this worker is anybody's.
  void release(int worker);

  /// Lost with a worker. Error if it was lost `most` times before: then it is not the worker's
  /// fault.
  void give_back(const Slice& slice, int most);
  /// Trained in vain, however often.
  void put_back(const Slice& slice) { returned_.push_back(slice); }

  std::size_t next_row() const { return next_; }
  bool exhausted() const { return next_ == order_.size() && !has_behind(); }
  /// Rows before next_row() that nobody has been given: returned or set aside.
  bool has_behind() const { return !returned_.empty() || waiting() > 0; }
  /// Place in the epoch, 0 .. 1.
  double share() const {
    return static_cast<double>(next_ - waiting()) / static_cast<double>(order_.size());
  }

 private:
  struct Aside {
    int worker;
    std::size_t size;  // asked for
    Slice slice;
  };

  std::optional<Slice> cut_returned();
  /// The first batch of these rows.
  Slice front(std::span<const std::uint32_t> rows, std::size_t size) const;
  std::span<const std::uint32_t> ahead() const { return std::span(order_).subspan(next_); }
  Slice cut_loose(std::size_t size);
  void loosen(const Aside& aside);
  std::size_t waiting() const;  // rows set aside or loose

  const EpochPlan& plan_;
  std::vector<std::uint32_t> order_;
  std::size_t next_;
  std::deque<Slice> returned_;
  std::vector<Aside> aside_;          // at most one a worker
  std::vector<std::uint32_t> loose_;  // were set aside, and not wanted in that size
  std::deque<std::vector<std::uint32_t>>
      gathered_;  // batches of loose rows, where slices find them
};

}  // namespace evener
