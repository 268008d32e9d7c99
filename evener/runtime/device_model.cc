#include "evener/runtime/device_model.h"

#include <algorithm>
#include <cmath>

namespace evener {

namespace {

Seconds exponential(Random& random, Seconds mean) {
  return -mean * std::log(1 - random.uniform());
}

constexpr double kFastest = 0.1;  // jitter never reduces a task's time below this share

}  // namespace

SimulatedTiming::SimulatedTiming(const DeviceModel& model, std::uint64_t seed, std::uint64_t worker)
    : model_(model), jitter_(seed, 2 * worker), bursts_(seed, 2 * worker + 1) {
  if (model_.burst_every > 0) {
    burst_begin_ = exponential(bursts_, model_.burst_every);
    burst_end_ = burst_begin_ + exponential(bursts_, model_.burst_seconds);
  }
}

double SimulatedTiming::slowness(Seconds now) {
  double factor = 1 + model_.drift * now / 3600;
  if (model_.jitter > 0) factor *= std::max(kFastest, 1 + model_.jitter * jitter_.normal());
  if (model_.burst_every > 0) {
    while (now >= burst_end_) {
      burst_begin_ = burst_end_ + exponential(bursts_, model_.burst_every);
      burst_end_ = burst_begin_ + exponential(bursts_, model_.burst_seconds);
    }
    if (now >= burst_begin_) factor *= model_.burst_factor;
  }
  return factor;
}

Seconds SimulatedTiming::compute(Seconds now, std::size_t rows, std::size_t nonzeros, int threads) {
  const Seconds work = model_.per_row * static_cast<double>(rows) +
                       model_.per_nonzero * static_cast<double>(nonzeros);
  return slowness(now) * (model_.fixed + work / threads);
}

Seconds SimulatedTiming::transfer(std::size_t bytes) const {
  return model_.bandwidth > 0 ? model_.latency + static_cast<double>(bytes) / model_.bandwidth : 0;
}

}  // namespace evener
