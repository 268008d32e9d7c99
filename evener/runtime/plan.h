// What an epoch trains on, how it is cut, and where training stands in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "evener/core/error.h"
#include "evener/data/batches.h"
#include "evener/data/dataset.h"
#include "evener/nn/schedule.h"

namespace evener {

struct EpochPlan {
  const Dataset* data = nullptr;
  std::span<const std::uint32_t> rows;  // of the data that are trained on; empty: all
  Balance balance = Balance::rows;
  Schedule schedule;
  std::uint64_t seed = 1;
  /// How far replicas are from each other where an epoch ends or pauses, before they are brought
  /// together there.
  bool measures_distance = false;

  std::size_t row_count() const { return rows.empty() ? data->rows() : rows.size(); }
};

/// Where training stands while nothing is under way. With one device this, the plan and the
/// device's vectors determine all that follows.
struct Position {
  std::uint64_t step = 0;      // updates done
  std::uint64_t epoch = 0;     // epochs completed
  std::uint64_t next_row = 0;  // place in the current epoch's order
  double loss_sum = 0;         // over the epoch's rows so far
};

struct StepReport {
  int worker = 0;
  std::size_t rows = 0;
  double loss = 0;  // the batch's mean, before the update
  float learning_rate = 0;
};

/// The loss or a weight is no longer a finite number.
class DivergedError : public Error {
 public:
  explicit DivergedError(const std::string& what)
      : Error(what +
              ": the training diverged; try a lower --learning-rate, --warmup-epochs 1 or "
              "--clip 1") {}
};

}  // namespace evener
