// The options of adaptive-sgd, and its sets of defaults: ours, those of [A], and those of the code
// that its authors released. Ours: batches are parts of one batch by speed (batch_scaler.h), merges
// are as frequent as their cost allows (merge_interval.h), include the second moments of Adam, and
// have neither perturbation nor momentum, and the learning rate is that of a round of all devices.
#pragma once

#include <vector>

#include "evener/policy/batch_scaler.h"
#include "evener/policy/normalized_merge.h"
#include "evener/policy/strategy.h"

namespace evener {

inline std::vector<StrategyOption> adaptive_sgd_options() {
  const std::vector<StrategyOption> scheduling{
      word_option("scheduling", {"dynamic", "static"},
                  "batches go to the device that is free, or each device gets an equal share")};
  return join_options(join_options(batch_size_options(), scheduling),
                      join_options(normalized_merge_options(), rate_schedule_options()));
}

inline std::vector<Preset> adaptive_sgd_presets() {
  return {evener_preset(),
          paper_preset({{"mega-batch", "100"},
                        {"scaler", "paper"},
                        {"rate-scaling", "linear"},
                        {"perturbation", "on"},
                        {"gamma", "0.9"},
                        {"moments", "own"}}),
          released_preset({{"b-max", "1024"},
                           {"b-min", "32"},
                           {"b-start", "min"},
                           {"mega-batch", "100"},
                           {"scaler", "released"},
                           {"beta", "32"},
                           {"rate-scaling", "linear"},
                           {"merge", "updates"},
                           {"perturbation", "on"},
                           {"perturbation-from", "10"},
                           {"gamma", "0.9"},
                           {"moments", "own"},
                           {"warmup", "10"}})};
}

}  // namespace evener
