// The line that is printed when an epoch ends.
#pragma once

#include <cstdint>
#include <string>

#include "evener/nn/metrics.h"

namespace evener {

struct EpochLine {
  std::uint64_t epoch = 0, epochs = 0;
  double train_loss = 0;
  const Metrics* metrics = nullptr;  // null: nothing was evaluated
  bool has_test = false;             // false: a part of the training data is evaluated
  double samples_per_second = 0, seconds = 0;
};
/// "epoch 3/14  loss 2.3451 (test 2.4012)  P@1 79.8  P@3 ...  21461 rows/s  42s".
std::string text_of(const EpochLine& line);

}  // namespace evener
