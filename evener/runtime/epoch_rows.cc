#include "evener/runtime/epoch_rows.h"

#include <algorithm>

#include <fmt/format.h>

namespace evener {

EpochRows::EpochRows(const EpochPlan& plan, std::uint64_t epoch, std::size_t next_row)
    : plan_(plan), order_(shuffled_rows(plan.row_count(), plan.seed, epoch)), next_(next_row) {
  if (!plan.rows.empty()) {
    for (auto& row : order_) row = plan.rows[row];
  }
}

Slice EpochRows::front(std::span<const std::uint32_t> rows, std::size_t size) const {
  const std::size_t count = next_batch(*plan_.data, rows, 0, size, plan_.balance);
  return {rows.first(count), count == rows.size() ? std::min(size, count) : size, 0};
}

std::optional<Slice> EpochRows::peek(std::size_t size) const {
  if (!returned_.empty()) return returned_.front();
  if (ahead().empty()) return std::nullopt;
  return front(ahead(), size);
}

std::optional<Slice> EpochRows::cut_returned() {
  if (returned_.empty()) return std::nullopt;
  const Slice slice = returned_.front();
  returned_.pop_front();
  return slice;
}

std::optional<Slice> EpochRows::cut_behind(std::size_t size) {
  if (auto slice = cut_returned()) return slice;
  if (waiting() == 0) return std::nullopt;
  for (const Reservation& reservation : reserved_) free_rows(reservation);
  reserved_.clear();
  if (freed_.size() >= size) return cut_freed(size);
  std::vector<std::uint32_t> rows = freed_;
  // Enough rows for a batch that is balanced by non-zeros and whose rows have few of them.
  const auto more = ahead().first(std::min(2 * size, ahead().size()));
  rows.insert(rows.end(), more.begin(), more.end());
  Slice slice = front(rows, size);
  const std::size_t old = std::min(slice.rows.size(), freed_.size());
  freed_.erase(freed_.begin(), freed_.begin() + static_cast<std::ptrdiff_t>(old));
  next_ += slice.rows.size() - old;
  gathered_.emplace_back(slice.rows.begin(), slice.rows.end());
  slice.rows = gathered_.back();
  return slice;
}

std::optional<Slice> EpochRows::cut(int worker, std::size_t size) {
  if (auto slice = cut_returned()) return slice;
  const auto own =
      std::find_if(reserved_.begin(), reserved_.end(),
                   [&](const Reservation& reservation) { return reservation.worker == worker; });
  if (own != reserved_.end()) {
    const Reservation reservation = *own;
    reserved_.erase(own);
    if (reservation.size == size) return reservation.slice;
    free_rows(reservation);
  }
  const bool nothing_else = ahead().empty();
  if (nothing_else && freed_.empty()) {
    for (const Reservation& reservation : reserved_) free_rows(reservation);
    reserved_.clear();
  }
  // Freed rows make whole batches, except the last one.
  if (!freed_.empty() && (nothing_else || freed_.size() >= size)) return cut_freed(size);
  if (nothing_else) return std::nullopt;
  const Slice slice = front(ahead(), size);
  next_ += slice.rows.size();
  return slice;
}

std::optional<Slice> EpochRows::reserve(int worker, std::size_t size) {
  if (!returned_.empty() || ahead().empty()) return std::nullopt;
  release(worker);
  const Slice slice = front(ahead(), size);
  reserved_.push_back({worker, size, slice});
  next_ += slice.rows.size();
  return slice;
}

void EpochRows::release(int worker) {
  std::erase_if(reserved_, [&](const Reservation& reservation) {
    if (reservation.worker == worker) free_rows(reservation);
    return reservation.worker == worker;
  });
}

Slice EpochRows::cut_freed(std::size_t size) {
  Slice slice = front(freed_, size);
  gathered_.emplace_back(slice.rows.begin(), slice.rows.end());
  slice.rows = gathered_.back();
  freed_.erase(freed_.begin(), freed_.begin() + static_cast<std::ptrdiff_t>(slice.rows.size()));
  return slice;
}

void EpochRows::free_rows(const Reservation& reservation) {
  freed_.insert(freed_.end(), reservation.slice.rows.begin(), reservation.slice.rows.end());
}

std::size_t EpochRows::behind() const {
  std::size_t rows = waiting();
  for (const Slice& slice : returned_) rows += slice.rows.size();
  return rows;
}

bool EpochRows::rewind() {
  std::vector<std::uint32_t> rows = freed_;
  for (const Reservation& reservation : reserved_) {
    rows.insert(rows.end(), reservation.slice.rows.begin(), reservation.slice.rows.end());
  }
  for (const Slice& slice : returned_)
    rows.insert(rows.end(), slice.rows.begin(), slice.rows.end());
  const auto end = order_.begin() + static_cast<std::ptrdiff_t>(next_);
  std::vector<std::uint32_t> last(end - static_cast<std::ptrdiff_t>(rows.size()), end);
  std::sort(rows.begin(), rows.end());
  std::sort(last.begin(), last.end());
  if (rows != last) return false;
  next_ -= rows.size();
  freed_.clear();
  reserved_.clear();
  returned_.clear();
  return true;
}

std::size_t EpochRows::waiting() const {
  std::size_t rows = freed_.size();
  for (const Reservation& reservation : reserved_) rows += reservation.slice.rows.size();
  return rows;
}

void EpochRows::give_back(const Slice& slice, int most) {
  if (slice.losses == most) {
    throw Error(fmt::format("{} devices failed on the same batch", most + 1));
  }
  returned_.push_back(slice);
  ++returned_.back().losses;
}

}  // namespace evener
