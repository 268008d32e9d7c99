// How long a device takes for a task, for virtual time. `evener profile` measures these numbers; a
// cluster file states them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "evener/core/random.h"
#include "evener/core/time.h"

namespace evener {

/// A task of r rows with z non-zeros takes (fixed + r per_row + z per_nonzero) * slowness, without
/// its transfers. The threads of an in-place worker run one step each, or share one step.
struct DeviceModel {
  std::string name;
  bool in_place = false;        // a CPU that trains on the shared model itself
  int threads = 1;              // of an in-place worker
  std::size_t memory_rows = 0;  // rows of the largest batch; 0: no limit

  Seconds fixed = 1e-3;
  Seconds per_row = 1e-4;
  Seconds per_nonzero = 0;

  double jitter = 0;          // standard deviation of a task's time, as a share of it
  double drift = 0;           // slower by this share per hour
  Seconds burst_every = 0;    // mean time between bursts of slowness; 0: none
  Seconds burst_seconds = 1;  // mean length of one
  double burst_factor = 4;    // slowness in one

  Seconds latency = 0;   // of the link to the host
  double bandwidth = 0;  // bytes a second; 0: host memory, no link

  Seconds joins_at = 0;  // the device joins then; 0: it is present from the start
  Seconds fails_at = 0;  // the device is lost then; 0: never
};

/// The times of one device over a run: the model with its random part, reproducible from the seed.
class SimulatedTiming {
 public:
  SimulatedTiming(const DeviceModel& model, std::uint64_t seed, std::uint64_t worker);

  /// `threads`: that share the task.
  Seconds compute(Seconds now, std::size_t rows, std::size_t nonzeros, int threads = 1);
  /// Time of so many bytes over the link.
  Seconds transfer(std::size_t bytes) const;
  const DeviceModel& model() const { return model_; }

 private:
  double slowness(Seconds now);

  DeviceModel model_;
  Random jitter_, bursts_;
  Seconds burst_begin_ = 0, burst_end_ = 0;
};

}  // namespace evener
