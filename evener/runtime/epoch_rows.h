// The rows of one epoch in their random order. The scheduler cuts batches from them, reserves
// batches for workers that prefetch, and returns rows when a worker is lost. Each row is trained
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

/// The rows of one step.
struct Slice {
  std::span<const std::uint32_t> rows;
  std::size_t nominal = 0;  // rows as the policy counts them: as assigned, or fewer at the end
  int losses = 0;           // how many workers were lost with it
};

class EpochRows {
 public:
  /// Starts at index `next_row` of the epoch's order.
  EpochRows(const EpochPlan& plan, std::uint64_t epoch, std::size_t next_row);

  /// A worker's next batch, or nothing if no row is left. Returned slices go first, unchanged; then
  /// the batch that is reserved for the worker, if it has this size. Batches that are reserved for
  /// other workers are used when no other rows are left.
  std::optional<Slice> cut(int worker, std::size_t size);
  /// What `cut` would return if there were only one worker.
  std::optional<Slice> peek(std::size_t size) const;
  /// For a run that is about to pause: a whole batch that starts with the rows behind next_row(),
  /// or nothing if there are none. It is filled up with later rows, because the noise of a small
  /// batch would stay in the optimizer's state for long.
  std::optional<Slice> cut_behind(std::size_t size);

  /// Reserves the batch that a worker will most likely get next. Returns nothing where returned
  /// slices go first or no row is left.
  std::optional<Slice> reserve(int worker, std::size_t size);
  /// Any worker may get the batch that was reserved for this one.
  void release(int worker);

  /// The slice was lost with its worker. Error if that happened `most` times before: the slice is
  /// then the likely cause.
  void give_back(const Slice& slice, int most);
  /// The slice's result is not used, for another reason. This may happen any number of times.
  void put_back(const Slice& slice) { returned_.push_back(slice); }

  /// Moves next_row() back over the rows behind it. Returns false, and changes nothing, where those
  /// are not just the last rows before it.
  bool rewind();

  std::size_t next_row() const { return next_; }
  bool exhausted() const { return next_ == order_.size() && !has_behind(); }
  /// Whether rows before next_row() have no worker: they were returned or are reserved.
  bool has_behind() const { return !returned_.empty() || waiting() > 0; }
  /// How many rows that are.
  std::size_t behind() const;
  /// Position in the epoch, 0 .. 1, for the learning rate schedule.
  double share() const {
    return static_cast<double>(next_ - waiting()) / static_cast<double>(order_.size());
  }

 private:
  struct Reservation {
    int worker;
    std::size_t size;  // as requested
    Slice slice;
  };

  std::optional<Slice> cut_returned();
  /// The first batch of these rows, by the plan's balance.
  Slice front(std::span<const std::uint32_t> rows, std::size_t size) const;
  std::span<const std::uint32_t> ahead() const { return std::span(order_).subspan(next_); }
  Slice cut_freed(std::size_t size);
  void free_rows(const Reservation& reservation);
  std::size_t waiting() const;  // rows that are reserved or freed

  const EpochPlan& plan_;
  std::vector<std::uint32_t> order_;
  std::size_t next_;
  std::deque<Slice> returned_;
  std::vector<Reservation> reserved_;  // at most one per worker
  std::vector<std::uint32_t> freed_;   // were reserved, but another size was requested
  /// Storage of batches of freed rows: slices refer to it.
  std::deque<std::vector<std::uint32_t>> gathered_;
};

}  // namespace evener
