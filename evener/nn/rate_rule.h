// How the learning rate of a step depends on its rows. A learning rate belongs to steps of
// `reference` rows; a step of b rows gets it times (b / reference)^power, at most `most` times.
//   power 1    sgd, momentum: the step is the sum of what its rows ask for (Goyal et al. 2017)
//   power 1/2  adam, adagrad: the size of a step does not depend on the gradient's length, only on
//              its noise (Malladi et al. 2022)
// There is no lower bound: a step of one row moves as little as its noise asks for. The upper bound
// is where larger rates stop to pay.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "evener/nn/training.h"

namespace evener {

struct RateRule {
  double reference = 0;  // rows; 0: every step gets the learning rate as it is
  double power = 0.5;
  double most = 4;
};

inline RateRule rate_rule_of(Optimizer optimizer, double reference) {
  const bool scale_free = optimizer == Optimizer::adam || optimizer == Optimizer::adagrad;
  return {reference, scale_free ? 0.5 : 1.0};
}

/// The factor of the learning rate for an update of so many rows.
inline double rate_factor(const RateRule& rule, std::size_t rows) {
  if (rule.reference == 0) return 1;
  return std::min(rule.most, std::pow(static_cast<double>(rows) / rule.reference, rule.power));
}

}  // namespace evener
