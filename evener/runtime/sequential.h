// The plainest runtime: one replica, one batch after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "evener/core/error.h"
#include "evener/data/batches.h"
#include "evener/data/dataset.h"
#include "evener/device/device.h"
#include "evener/nn/schedule.h"

namespace evener {

/// What an epoch trains on, and how it is cut.
struct EpochPlan {
  const Dataset* data = nullptr;
  std::span<const std::uint32_t> rows;  // of the data that are trained on; empty: all
  std::size_t batch_size = 256;
  Balance balance = Balance::rows;
  Schedule schedule;
  std::uint64_t seed = 1;

  std::size_t row_count() const { return rows.empty() ? data->rows() : rows.size(); }
};

/// Where training stands. With the plan and the replica's vectors it determines all that follows.
struct Position {
  std::uint64_t step = 0;      // updates done
  std::uint64_t epoch = 0;     // epochs completed
  std::uint64_t next_row = 0;  // place in the current epoch's order
  double loss_sum = 0;         // over the epoch's rows so far
};

struct StepReport {
  std::size_t rows = 0;
  double loss = 0;  // the batch's mean, before the update
  float learning_rate = 0;
};

/// The loss or a weight is no longer a finite number.
class DivergedError : public Error {
 public:
  explicit DivergedError(const std::string& what);
};

/// Steps through the rest of the current epoch; true when its last row is done (position.next_row
/// is then the row count, position.epoch unchanged). `after_step` returns false to stop early.
bool run_epoch(Replica& replica, const EpochPlan& plan, Position& position,
               const std::function<bool(const StepReport&)>& after_step);

}  // namespace evener
