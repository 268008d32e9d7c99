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
  double part = 1;  // of the epoch; below 1: the end of the time cut it short
  double total_seconds =
      0;  // of a run that ends by time, and `seconds` are of training; 0: it does not
};
/// "epoch 3/14  loss 2.3451 (test 2.4012)  P@1 79.8  P@3 ...  21461 rows/s  42s".
/// If the run ends by time: "epoch 3  loss 2.3451  ...  21461 rows/s  42s of 5:00".
std::string text_of(const EpochLine& line);

}  // namespace evener
