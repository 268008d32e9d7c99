// The MERGE step of Adaptive SGD [A]: the weight of each replica.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evener/policy/batch_scaler.h"

namespace evener {

class NormalizedMerge {
 public:
  explicit NormalizedMerge(const StrategyValues& values);

  /// Whether the weights depend on the norms.
  bool needs_norms() const { return perturbs_; }
  /// `norms`: |w_i| / (number of parameters).
  Merge weigh(const std::vector<DeviceProgress>& progress, const std::vector<int>& workers,
              const std::vector<double>& norms, std::uint64_t epoch) const;

 private:
  std::string rule_;
  bool perturbs_;
  double threshold_, delta_, from_epoch_, momentum_;
  bool moments_;
};

/// The options that it reads.
std::vector<StrategyOption> normalized_merge_options();

}  // namespace evener
