// The parts of a batch by the measured speed of each worker, so that all parts take equally long:
//   rows_i = batch * rate_i / sum rate
// with the rates of earlier rounds. A worker whose part would be below 1/25 for ten rounds in a row
// costs more than it contributes: it is demoted and gets no part any more (ours).
#pragma once

#include <cstddef>
#include <vector>

#include "evener/policy/events.h"

namespace evener {

class PartsBySpeed {
 public:
  void finished(const Finished& event);
  /// Resets the rates of all workers. Demoted workers get parts again.
  void reset() { rates_.clear(); }
  /// Whether the rate of each of these is known.
  bool knows(const std::vector<int>& workers);

  struct Demotion {
    int worker;
    double share;  // of the batch that it would have had
  };
  struct Parts {
    std::vector<std::size_t> rows;    // of each worker; they add up to the batch
    std::vector<Demotion> demotions;  // made now
  };
  /// Precondition: all rates are known, or there is one worker.
  Parts split(std::size_t batch, const std::vector<int>& workers);

 private:
  struct WorkerRate {
    double rate = 0;   // rows a second, smoothed; 0: not known
    int too_slow = 0;  // rounds in a row in which its part was too small
  };
  WorkerRate& rate_of(int worker);
  std::vector<Demotion> demote(const std::vector<int>& workers, std::vector<double>& shares);

  std::vector<WorkerRate> rates_;  // by worker
};

}  // namespace evener
