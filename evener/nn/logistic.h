// The logistic loss of one (row, label) pair.
#pragma once

#include <algorithm>
#include <cmath>

namespace evener {

inline float sigmoid(float score) {
  return 1 / (1 + std::exp(-score));
}

/// -log of the probability that a score (log-odds) gives to what is true.
inline float log_loss(float score, bool positive) {
  const float against = positive ? -score : score;
  return std::max(against, 0.0F) + std::log1p(std::exp(-std::abs(against)));
}

/// The log-odds of true labels that are not candidates, in the loss of a prediction.
inline constexpr float kAbsentLogOdds = -12;

}  // namespace evener
