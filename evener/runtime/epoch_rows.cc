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
  for (const Aside& aside : aside_) loosen(aside);
  aside_.clear();
  if (loose_.size() >= size) return cut_loose(size);
  std::vector<std::uint32_t> rows = loose_;
  // Enough rows for a batch that is balanced by non-zeros and whose rows have few of them.
  const auto more = ahead().first(std::min(2 * size, ahead().size()));
  rows.insert(rows.end(), more.begin(), more.end());
  Slice slice = front(rows, size);
  const std::size_t old = std::min(slice.rows.size(), loose_.size());
  loose_.erase(loose_.begin(), loose_.begin() + static_cast<std::ptrdiff_t>(old));
  next_ += slice.rows.size() - old;
  gathered_.emplace_back(slice.rows.begin(), slice.rows.end());
  slice.rows = gathered_.back();
  return slice;
}

std::optional<Slice> EpochRows::cut(int worker, std::size_t size) {
  if (auto slice = cut_returned()) return slice;
  const auto own = std::find_if(aside_.begin(), aside_.end(),
                                [&](const Aside& aside) { return aside.worker == worker; });
  if (own != aside_.end()) {
    const Aside aside = *own;
    aside_.erase(own);
    if (aside.size == size) return aside.slice;
    loosen(aside);
  }
  const bool nothing_else = ahead().empty();
  if (nothing_else && loose_.empty()) {
    for (const Aside& aside : aside_) loosen(aside);
    aside_.clear();
  }
  // Loose rows make whole batches, except the last one.
  if (!loose_.empty() && (nothing_else || loose_.size() >= size)) return cut_loose(size);
  if (nothing_else) return std::nullopt;
  const Slice slice = front(ahead(), size);
  next_ += slice.rows.size();
  return slice;
}

std::optional<Slice> EpochRows::set_aside(int worker, std::size_t size) {
  if (!returned_.empty() || ahead().empty()) return std::nullopt;
  release(worker);
  const Slice slice = front(ahead(), size);
  aside_.push_back({worker, size, slice});
  next_ += slice.rows.size();
  return slice;
}

void EpochRows::release(int worker) {
  std::erase_if(aside_, [&](const Aside& aside) {
    if (aside.worker == worker) loosen(aside);
    return aside.worker == worker;
  });
}

Slice EpochRows::cut_loose(std::size_t size) {
  Slice slice = front(loose_, size);
  gathered_.emplace_back(slice.rows.begin(), slice.rows.end());
  slice.rows = gathered_.back();
  loose_.erase(loose_.begin(), loose_.begin() + static_cast<std::ptrdiff_t>(slice.rows.size()));
  return slice;
}

void EpochRows::loosen(const Aside& aside) {
  loose_.insert(loose_.end(), aside.slice.rows.begin(), aside.slice.rows.end());
}

std::size_t EpochRows::waiting() const {
  std::size_t rows = loose_.size();
  for (const Aside& aside : aside_) rows += aside.slice.rows.size();
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
