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

std::optional<Slice> EpochRows::cut_returned() {
  if (returned_.empty()) return std::nullopt;
  const Slice slice = returned_.front();
  returned_.pop_front();
  return slice;
}

std::optional<Slice> EpochRows::peek(std::size_t size) const {
  if (!returned_.empty()) return returned_.front();
  if (next_ == order_.size()) return std::nullopt;
  const std::size_t count = next_batch(*plan_.data, order_, next_, size, plan_.balance);
  const bool last = next_ + count == order_.size();
  return Slice{std::span(order_).subspan(next_, count), last ? std::min(size, count) : size, false};
}

std::optional<Slice> EpochRows::cut(std::size_t size) {
  if (auto slice = cut_returned()) return slice;
  const auto slice = peek(size);
  if (slice) next_ += slice->rows.size();
  return slice;
}

void EpochRows::give_back(const Slice& slice, int most) {
  if (slice.losses == most) {
    throw Error(fmt::format("{} devices failed on the same batch", most + 1));
  }
  returned_.push_back(slice);
  ++returned_.back().losses;
}

}  // namespace evener
