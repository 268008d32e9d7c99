#include "evener/policy/throughput_split.h"

#include <algorithm>
#include <cmath>

namespace evener {

namespace {

constexpr double kDeadBand = 0.05;
constexpr double kMostTimes = 16;  // the largest r_i / b; the inverse is the smallest

}  // namespace

void ThroughputSplit::join(int node, std::size_t most) {
  if (nodes_.size() <= index(node)) nodes_.resize(index(node) + 1);
  Node& own = nodes_[index(node)] = {};
  own.present = true;
  own.most = most;
  own.rows = equal_;
}

void ThroughputSplit::leave(int node) {
  nodes_.at(index(node)).present = false;
}

void ThroughputSplit::finished(int node, std::size_t rows, Seconds compute) {
  if (!follows_ || rows < this->rows(node) || compute <= 0) return;
  Node& own = nodes_.at(index(node));
  own.seconds_a_row[own.pushes++ % kPushes] = compute / static_cast<double>(rows);
  auto known = own.seconds_a_row;
  const auto end = known.begin() + static_cast<std::ptrdiff_t>(std::min(own.pushes, kPushes));
  const auto middle = known.begin() + (end - known.begin()) / 2;
  std::nth_element(known.begin(), middle, end);
  own.rows_a_second = 1 / *middle;

  double sum = 0, count = 0;
  for (const Node& other : nodes_) {
    if (!other.present || other.rows_a_second == 0) continue;
    sum += other.rows_a_second;
    ++count;
  }
  const double due = std::clamp(count * equal_ * own.rows_a_second / sum, equal_ / kMostTimes,
                                equal_ * kMostTimes);
  if (std::abs(due - own.rows) > kDeadBand * own.rows) own.rows = due;
}

std::size_t ThroughputSplit::rows(int node) const {
  const Node& own = nodes_.at(index(node));
  const auto rows = static_cast<std::size_t>(std::max(1.0, std::round(own.rows)));
  return own.most > 0 ? std::min(rows, own.most) : rows;
}

double ThroughputSplit::rate(std::size_t rows) const {
  return follows_ ? static_cast<double>(rows) / equal_ : 1;
}

}  // namespace evener
