// The end of an epoch where no worker waits for another (ours): a slow worker that takes a whole
// batch near the end would hold up all others. It gets its share of the rows that are left instead,
// so that all workers end at about the same time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "evener/core/seconds.h"

namespace evener {

class EpochTail {
 public:
  void begin(std::size_t rows) { left_ = rows; }
  void put_back(std::size_t rows) { left_ += rows; }
  void lose(int worker) {
    if (static_cast<std::size_t>(worker) < speeds_.size()) speeds_[worker] = 0;
  }
  void finished(int worker, std::size_t rows, Seconds seconds) {
    const auto index = static_cast<std::size_t>(worker);
    if (speeds_.size() <= index) speeds_.resize(index + 1, 0);
    if (seconds <= 0) return;
    const double now = static_cast<double>(rows) / seconds;
    speeds_[index] = speeds_[index] > 0 ? std::lerp(speeds_[index], now, 0.5) : now;
  }

  /// Rows for a worker that wants `rows` while others are busy: these, its share of those that are
  /// left, or none.
  std::size_t allow(int worker, std::size_t rows) const {
    const auto index = static_cast<std::size_t>(worker);
    double all = 0, fastest = 0;
    for (const double speed : speeds_) {
      all += speed;
      fastest = std::max(fastest, speed);
    }
    const double own = index < speeds_.size() ? speeds_[index] : 0;
    const double others = all - own;
    const auto left = static_cast<double>(left_);
    if (own == 0 || own == fastest) return rows;
    if (static_cast<double>(rows) / own <= left / others) return rows;
    return std::min(rows, static_cast<std::size_t>(left * own / all));
  }
  void took(std::size_t rows) { left_ -= std::min(left_, rows); }

 private:
  std::size_t left_ = 0;        // rows of the epoch that no worker has
  std::vector<double> speeds_;  // rows per second of each worker; 0: not known
};

}  // namespace evener
