// How the learning rate of the Hogbatch family grows with the batch. The paper does not
// say; a rate that suits one row is far too small for a thousand.
#pragma once

#include <cmath>

#include "evener/policy/strategy.h"

namespace evener {

class RateScaling {
 public:
  explicit RateScaling(const StrategyValues& values)
      : power_(values.is("rate-scaling", "linear") ? 1
               : values.is("rate-scaling", "sqrt") ? 0.5
                                                   : 0),
        base_(values.number("cpu-batch")) {}

  double of(std::size_t rows) const {
    return power_ == 0 ? 1 : std::pow(static_cast<double>(rows) / base_, power_);
  }

 private:
  double power_, base_;
};

}  // namespace evener
