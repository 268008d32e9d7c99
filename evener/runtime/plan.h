// The plan of an epoch: its rows, how they are cut into batches, and the learning rate schedule. A
// Position says how far training is; the scheduler updates it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "evener/core/error.h"
#include "evener/core/time.h"
#include "evener/data/batches.h"
#include "evener/data/dataset.h"
#include "evener/nn/rate_rule.h"
#include "evener/nn/schedule.h"

namespace evener {

struct EpochPlan {
  const Dataset* data = nullptr;
  std::span<const std::uint32_t> rows;  // rows of the data to train on; empty: all
  Balance balance = Balance::rows;
  Schedule schedule;
  RateRule rates;  // of steps by their rows
  std::uint64_t seed = 1;
  /// The run ends after this much training; 0: by epochs.
  Seconds seconds = 0;
  /// Measure how far the replicas are from each other where an epoch ends or pauses, before the
  /// last merge.
  bool measures_distance = false;

  std::size_t row_count() const { return rows.empty() ? data->rows() : rows.size(); }
  bool is_out_of_time(Seconds used) const { return seconds > 0 && used >= seconds; }
  /// 0 .. 1, of a run that ends by time.
  double time_share(Seconds used) const { return std::min(used / seconds, 1.0); }
};

/// How far training is, while no task is under way. With one device, the position, the plan and the
/// device's vectors determine the rest of the run.
struct Position {
  std::uint64_t step = 0;      // updates so far
  std::uint64_t epoch = 0;     // epochs completed
  std::uint64_t next_row = 0;  // index in the current epoch's order
  double loss_sum = 0;         // over the epoch's rows so far
  /// Of training so far, over all sessions of the run: without evaluations and checkpoints.
  Seconds seconds = 0;
};

struct StepReport {
  int worker = 0;
  std::size_t rows = 0;
  double loss = 0;  // mean over the batch, before the update
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
