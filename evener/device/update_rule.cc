#include "evener/device/update_rule.h"

#include <cmath>

namespace evener {

UpdateRule update_rule(const Training& training, const Step& step) {
  UpdateRule rule{training.optimizer, step.learning_rate, training.momentum, training.beta2, 1.0F,
                  training.epsilon,   training.l2,        training.clip};
  if (training.optimizer == Optimizer::adam) {
    const auto t = static_cast<double>(step.number);
    rule.momentum = training.beta1;
    rule.learning_rate =
        static_cast<float>(step.learning_rate / (1.0 - std::pow(training.beta1, t)));
    rule.root_scale = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(training.beta2, t)));
  }
  return rule;
}

}  // namespace evener
