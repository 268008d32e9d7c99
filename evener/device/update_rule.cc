#include "evener/device/update_rule.h"

#include <cmath>

namespace evener {

float least_share_of_square(float beta1, float beta2) {
  const double b1 = beta1, b2 = beta2;
  const double ratio = b1 * b1 / b2;
  if (ratio >= 1) return 0;
  const double share = (1 - b2) * (1 - ratio) / ((1 - b1) * (1 - b1));
  // Slightly less, so that rounding in a single thread never triggers the bound.
  return static_cast<float>(0.99 * share);
}

UpdateRule update_rule(const Training& training, const Step& step) {
  UpdateRule rule{
      training.optimizer, step.learning_rate, training.momentum, training.beta2, 1.0F, 0.0F,
      training.epsilon,   training.l2,        training.clip};
  if (training.optimizer == Optimizer::adam) {
    const auto t = static_cast<double>(step.number);
    rule.momentum = training.beta1;
    rule.learning_rate =
        static_cast<float>(step.learning_rate / (1.0 - std::pow(training.beta1, t)));
    rule.least_v = least_share_of_square(training.beta1, training.beta2);
    rule.root_scale = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(training.beta2, t)));
  }
  return rule;
}

float clip_factor(float clip, float square_norm) {
  const float norm = std::sqrt(square_norm);
  return norm > clip ? clip / norm : 1.0F;
}

}  // namespace evener
